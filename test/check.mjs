// Everything that must be green before a change is done: lint, types, tests, build, and the package
// as its users get it. All steps run, so that one look shows all there is to mend.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Far beyond what a step takes; a step that hangs must not hang the whole check.
const STEP_TIMEOUT = 20 * 60_000;

const folder = mkdtempSync(join(tmpdir(), 'marketgate-check-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

// `--no`: run what is installed here, and never fetch something else of that name.
const steps = [
  { name: 'lint', command: ['npx', '--no', '--', 'biome', 'check', '.'] },
  { name: 'unused', command: ['npx', '--no', '--', 'knip'] },
  { name: 'types', command: ['npm', 'run', 'types'] },
  {
    name: 'slow tests',
    command: ['npx', '--no', '--', 'vitest', 'run', '--project', 'check'],
    counted: true,
  },
  // Warnings are errors: all that is public has a description, and no link is dead.
  { name: 'API pages', command: ['npx', '--no', '--', 'typedoc', '--emit', 'none'] },
  {
    name: 'OpenAPI document',
    command: [
      ...['npx', '--no', '--', 'redocly', 'lint', 'src/openapi.json'],
      ...['--config', 'test/unit/openapi/redocly.yaml'],
    ],
    // No news of a new version, no figures about use.
    env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  },
  { name: 'tests', command: ['npm', 'test'], counted: true },
  { name: 'build', command: ['npm', 'run', 'build'] },
  {
    name: 'package',
    command: ['npx', '--no', '--', 'vitest', 'run', '--config', 'test/package/vitest.config.ts'],
    counted: true,
    needs: 'build',
  },
];

/** Runs a program with its output shown as it comes; whether it ended well. */
function succeeds([command, ...args], env) {
  // npm and npx are scripts on Windows.
  const shell = process.platform === 'win32';
  const options = { stdio: 'inherit', timeout: STEP_TIMEOUT, shell };
  return spawnSync(command, args, { ...options, env: { ...process.env, ...env } }).status === 0;
}

/** What a step came to. A run of tests that left no counts behind has failed. */
function run({ name, command, env = {}, counted = false }) {
  if (!counted) {
    const ok = succeeds(command, env);
    return { passed: Number(ok), failed: Number(!ok), skipped: 0 };
  }
  const file = join(folder, `${name}.json`);
  const all = process.env.CI ? { MARKETGATE_REQUIRE_ALL: '1' } : {};
  const ok = succeeds(command, { MARKETGATE_COUNT_FILE: file, ...all });
  if (!existsSync(file)) return { passed: 0, failed: 1, skipped: 0 };
  const counts = JSON.parse(readFileSync(file, 'utf8'));
  return ok ? counts : { ...counts, failed: Math.max(counts.failed, 1) };
}

const results = new Map();
for (const step of steps) {
  console.log(`\n=== ${step.name}: ${step.command.join(' ')}`);
  if (step.needs && results.get(step.needs)?.failed > 0) {
    console.log(`not run, for it needs the step "${step.needs}"`);
    results.set(step.name, { passed: 0, failed: 1, skipped: 0, seconds: 0, note: 'not run' });
    continue;
  }
  const start = performance.now();
  const counts = run(step);
  results.set(step.name, { ...counts, seconds: Math.round((performance.now() - start) / 1000) });
}

console.table(Object.fromEntries(results));
const all = [...results.values()];
const sum = (name) => all.reduce((total, result) => total + result[name], 0);
process.exitCode = sum('failed') > 0 ? 1 : 0;
console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`);

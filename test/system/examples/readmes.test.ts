import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runExample } from './run-example.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SCRIPTS = (
  JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { scripts: Record<string, string> }
).scripts;
const CURL = spawnSync('curl', ['--version']).status === 0;
if (!CURL) console.warn('READMEs of the examples are not tried: there is no curl on this machine.');

const EXAMPLES = readdirSync(`${ROOT}examples`).filter((name) =>
  existsSync(`${ROOT}examples/${name}/README.md`),
);

/** The lines of the blocks of a README, without the remarks behind them. */
function commandsOf(example: string): string[] {
  const page = readFileSync(`${ROOT}examples/${example}/README.md`, 'utf8');
  return [...page.matchAll(/^```(?:sh)?\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) =>
    block
      .split('\n')
      .map((line) => line.replace(/\s{2,}#.*$/, ''))
      .filter((line) => line !== ''),
  );
}

describe('the README of each example', () => {
  it.each(EXAMPLES)('%s starts it by a command that is there', (example) => {
    const starts = commandsOf(example).flatMap((line) => {
      const script = /^npm run (\S+)/.exec(line)?.[1];
      const command = script === undefined ? line : (SCRIPTS[script] ?? '');
      return /tsx (?:watch )?(examples\/\S+)$/.exec(command)?.slice(1) ?? [];
    });
    expect(starts.length).toBeGreaterThan(0);
    for (const file of starts) {
      expect(file).toMatch(new RegExp(`^examples/${example}/server\\.[jt]s$`));
      expect(existsSync(`${ROOT}${file}`)).toBe(true);
    }
  });
});

/** What the `curl` lines of a README print, one after the other; json-api has a test of its own. */
const PRINTED: Record<string, { file: string; env: Record<string, string>; printed: RegExp[] }> = {
  'commonjs-express4': {
    file: 'server.js',
    env: { PORT: '0' },
    printed: [/"id":1042/, /"code":"purchase_required"/, /"license_type":"Regular"/],
  },
  metrics: {
    file: 'server.ts',
    env: { PORT: '0', METRICS_PORT: '0' },
    printed: [
      /"id":1042/,
      /"code":"purchase_required"/,
      /{"item":1042}/,
      /{"item":1042}/,
      /marketgate_lookups_total\{[^}]*source="cache"[^}]*\} 1/,
    ],
  },
};

describe.skipIf(!CURL)('the curl lines of the README of', () => {
  it('all examples that have some are tried', () => {
    const withCurl = EXAMPLES.filter((name) => commandsOf(name).some((line) => /^curl/.test(line)));
    expect(withCurl.sort()).toEqual([...Object.keys(PRINTED), 'json-api'].sort());
  });

  it.each(Object.entries(PRINTED))('%s print what is said', async (example, expected) => {
    const running = runExample(`${example}/${expected.file}`, expected.env);
    const app = await running.prints(/(http:\/\/(?:localhost|127\.0\.0\.1):\d+)(?!\S*metrics)/);
    const lines = commandsOf(example).filter((line) => /^curl/.test(line));
    expect(lines).toHaveLength(expected.printed.length);
    for (const [i, line] of lines.entries()) {
      const metrics = /:9464/.test(line) ? await running.prints(/(http:\/\/\S+)\/metrics/) : '';
      const command = line
        .replace(/http:\/\/[\w.]+:3000/, app)
        .replace(/http:\/\/[\w.]+:9464/, metrics);
      expect(await shell(command)).toMatch(expected.printed[i] ?? '');
    }
  });
});

const shell = (command: string): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile('sh', ['-eu', '-c', command], (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    );
  });

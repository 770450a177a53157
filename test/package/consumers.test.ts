import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { runProgram } from './run-program.js';

const TSC = fileURLToPath(new URL('../../node_modules/typescript/lib/tsc.js', import.meta.url));
const projects = Object.entries(inject('projects'));

const programs = [
  // The guard, its guess limit and a login.
  'programs/express.mjs',
  'esm-js/lazy.js',
  'esm-js/one-build.js',
  'cjs-js/without-dynamic-import.js',
];

// "nodenext" resolves as "node16" does; `npm run matrix` has it.
const typed = [
  { file: 'esm-ts/app.ts', module: 'node16', resolution: 'node16' },
  { file: 'esm-ts/app.ts', module: 'esnext', resolution: 'bundler' },
  { file: 'cjs-ts/app.ts', module: 'node16', resolution: 'node16' },
  { file: 'cjs-ts/app.ts', module: 'commonjs', resolution: 'node10' },
];

/** Starts a server, gives what it has printed to `use` once that is all, and ends it. Returns its exit code. */
async function withServer(
  program: readonly string[],
  cwd: string,
  last: RegExp,
  use: (printed: string) => Promise<void>,
): Promise<number | null> {
  const env = { PATH: process.env.PATH, PORT: '0' };
  const child = spawn(process.execPath, program, { cwd, env });
  const exit = once(child, 'exit');
  try {
    let printed = '';
    while (!last.test(printed)) printed += String(await once(child.stdout, 'data'));
    await use(printed);
  } finally {
    child.kill('SIGINT');
  }
  const [code] = await exit;
  return code;
}

describe.each(projects)('with %s', (_name, project) => {
  const consumers = join(project, 'consumers');

  it.concurrent.each(programs)('%s runs to its end', async (program) => {
    // It must end by itself: what keeps the process alive is a fault too.
    const options = { cwd: consumers, timeout: 20_000 };
    const { code, stdout, stderr } = await runProgram(process.execPath, [program], options);
    expect(code, stdout + stderr).toBe(0);
  });

  it('the contract suite under node:test passes a good store, and says in words why a broken one fails', async () => {
    const suite = ['--test', '--test-reporter', 'tap', 'esm-js/node-test-suite.js'];
    const { code, stdout } = await runProgram(process.execPath, suite, { cwd: consumers });
    expect(stdout).toMatch(/^ok 1 - MemoryTokenStore$/m);
    expect(stdout).toMatch(/^not ok 2 - DeletesNothing$/m);
    expect(stdout).toMatch(/^ +not ok \d+ - replaces, deletes and keeps a token again/m);
    expect(stdout).toContain('after delete: get must give undefined');
    expect(code).toBe(1);
  });

  it('the CommonJS example starts and guards', async () => {
    const cwd = join(consumers, 'commonjs-express4');
    await withServer(['server.js'], cwd, /localhost:\d+/, async (printed) => {
      const origin = /http:\/\/localhost:\d+/.exec(printed)?.[0];
      expect((await fetch(`${origin}/items/1042/download`)).status).toBe(402);
    });
  });

  it('the command line runs, and knows its version', async () => {
    const bin = join(project, 'node_modules', '.bin', 'marketgate');
    const { code, stdout, stderr } = await runProgram(bin, ['--version'], { cwd: project });
    expect(code, stdout + stderr).toBe(0);
    expect(stdout.trim()).toMatch(/^\d+\.\d+\.\d+/);
    const page = await runProgram(bin, ['explain', 'support_expired'], { cwd: project });
    expect(page.stdout).toMatch(/^support_expired\n/);
    const wrong = await runProgram(bin, ['verify', 'some-code'], { cwd: project });
    expect(wrong.code).toBe(2);
  });

  it('the demo sells, shows and refuses with the package and its dependencies alone', async () => {
    const demo = [join(project, 'node_modules/marketgate/dist/cli.cjs'), 'demo', '--port', '0'];
    const code = await withServer(demo, project, /Ctrl\+C ends it/, async (printed) => {
      const [shop = ''] = /http:\/\/localhost:\d+/.exec(printed) ?? [];
      const [marketplace = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? [];
      const page = await (await fetch(shop)).text();
      expect(page).toContain('Fjord Light');
      const [, picture = ''] = /<img src="(http[^"]+)"/.exec(page) ?? [];
      for (const url of [picture, `${shop}/assets/base.css`, `${marketplace}/sandbox/console`]) {
        expect([url, (await fetch(url)).status]).toEqual([url, 200]);
      }
      expect(await (await fetch(`${shop}/items/1042/download`)).json()).toMatchObject({
        code: 'login_required',
      });
    });
    expect(code).toBe(0);
  });

  it.concurrent.each(typed)(
    '$file is right for tsc --moduleResolution $resolution',
    async (how) => {
      const { file, module, resolution } = how;
      const switches = [
        ...['--noEmit', '--strict', '--skipLibCheck', 'false', '--types', 'node'],
        ...['--target', 'es2022', '--module', module, '--moduleResolution', resolution],
        // As `tsc --init` writes it. Zod's types, which those of the sandbox need, do not compile without it.
        '--esModuleInterop',
      ];
      const args = [TSC, ...switches, file];
      const { code, stdout } = await runProgram(process.execPath, args, { cwd: consumers });
      expect(code, stdout).toBe(0);
    },
  );
});

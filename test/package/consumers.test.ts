import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { runProgram } from './run-program.js';

const CONSUMERS = fileURLToPath(new URL('./consumers', import.meta.url));
const TSC = fileURLToPath(new URL('../../node_modules/typescript/lib/tsc.js', import.meta.url));
const projects = Object.entries(inject('projects'));

const programs = ['esm-js', 'cjs-js'].flatMap((folder) =>
  readdirSync(join(CONSUMERS, folder))
    .filter((file) => file.endsWith('.js'))
    .map((file) => `${folder}/${file}`),
);

// "nodenext" resolves as "node16" does; `npm run matrix` has it.
const typed = [
  { file: 'esm-ts/app.ts', module: 'node16', resolution: 'node16' },
  { file: 'esm-ts/app.ts', module: 'esnext', resolution: 'bundler' },
  { file: 'cjs-ts/app.ts', module: 'node16', resolution: 'node16' },
  { file: 'cjs-ts/app.ts', module: 'commonjs', resolution: 'node10' },
];

describe.each(projects)('with %s', (_name, project) => {
  const consumers = join(project, 'consumers');

  it.concurrent.each(programs)('%s runs to its end', async (program) => {
    // It must end by itself: what keeps the process alive is a fault too.
    const options = { cwd: consumers, timeout: 20_000 };
    const { code, stdout, stderr } = await runProgram(process.execPath, [program], options);
    expect(code, stdout + stderr).toBe(0);
  });

  it('the CommonJS example starts and guards', async () => {
    const cwd = join(consumers, 'commonjs-express4');
    const child = spawn(process.execPath, ['server.js'], { cwd, env: { PORT: '0' } });
    try {
      const [line] = await once(child.stdout, 'data');
      const origin = /http:\/\/localhost:\d+/.exec(String(line))?.[0];
      expect((await fetch(`${origin}/items/1042/download`)).status).toBe(402);
    } finally {
      child.kill();
      await once(child, 'exit');
    }
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
    const bin = join(project, 'node_modules/marketgate/dist/cli.cjs');
    const env = { PATH: process.env.PATH, npm_config_user_agent: 'pnpm/10.0.0 node/v22' };
    const child = spawn(process.execPath, [bin, 'demo', '--port', '0'], { cwd: project, env });
    try {
      let printed = '';
      while (!printed.includes('Ctrl+C ends it')) {
        printed += String(await once(child.stdout, 'data'));
      }
      expect(printed).toContain('pnpm exec marketgate sandbox refund');
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
    } finally {
      child.kill('SIGINT');
    }
    const [code] = await once(child, 'exit');
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

import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Browser } from '../../support/browser.js';
import { portOf } from '../../support/listen.js';
import { runExample } from './run-example.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  scripts: Record<string, string>;
};
const CURL = spawnSync('curl', ['--version']).status === 0;
if (!CURL) console.warn('The READMEs of the examples are not run: there is no curl.');

const EXAMPLES = readdirSync(`${ROOT}examples`).filter((name) =>
  existsSync(`${ROOT}examples/${name}/README.md`),
);

const commandsOf = (example: string): string[] =>
  [
    ...readFileSync(`${ROOT}examples/${example}/README.md`, 'utf8').matchAll(
      /^```(?:sh)?\n([\s\S]*?)^```/gm,
    ),
  ]
    .flatMap(([, block = '']) => block.split('\n'))
    .map((line) => line.replace(/\s{2,}#.*$/, ''));

/** The program of an example, below `examples`. */
const serverOf = (example: string): string =>
  `${example}/server.${example.startsWith('commonjs') ? 'js' : 'ts'}`;

it.each(EXAMPLES)('the README of %s starts a program that exists', (example) => {
  const lines = commandsOf(example).map((line) => {
    const [, script = ''] = /^npm run (\S+)/.exec(line) ?? [];
    return scripts[script] ?? line;
  });
  const [, file] = /tsx .*(examples\/\S+\/server\.[jt]s)$/m.exec(lines.join('\n')) ?? [];
  expect(file).toBe(`examples/${serverOf(example)}`);
  expect(existsSync(`${ROOT}${file}`)).toBe(true);
});

it('an example says in one line that its port is taken, or is no port, and which variable names another', async () => {
  for (const [PORT, line] of [
    [`${await portOf(createServer())}`, /^listen EADDRINUSE: .*; .*\bPORT\b.*\n$/],
    ['abc', /^.*\bPORT\b.*65535\.\n$/],
  ] as const) {
    const running = runExample('quickstart/server.ts', { PORT });
    expect(await running.ended).toBe(1);
    expect(running.errors()).toMatch(line);
  }
});

/** What the curl commands of a README print, one after the other, and where a login starts and ends. */
const PRINTED: Record<string, { printed: RegExp[]; login?: [start: string, end: RegExp] }> = {
  quickstart: {
    printed: [/"code":"purchase_required"/, /Here is Fjord Light/],
    login: ['/account', /"id":"3001"/],
  },
  'commonjs-express4': {
    printed: [/"id":1042/, /"code":"purchase_required"/, /"license_type":"Regular"/],
    login: ['/login', /"id":"3001"/],
  },
  'json-api': {
    printed: [
      ...[/"id":1042/, /"name":"Fjord Light"/, /"code":"login_required"/],
      ...[/"name":"Mira Solheim"/, /"username":"mira.solheim"/, /"file":"item-1042.zip"/],
      ...[/^$/, /"code":"login_required"/],
    ],
  },
};

describe.skipIf(!CURL)('the curl commands of the README of', () => {
  const hasCurl = (example: string) => commandsOf(example).some((line) => /^curl/.test(line));
  it.each(EXAMPLES.filter(hasCurl))('%s print what they should', async (example) => {
    const { printed = [], login } = PRINTED[example] ?? {};
    const running = runExample(serverOf(example), { PORT: '0' });
    const origin = await running.prints(/(http:\/\/(?:localhost|127\.0\.0\.1):\d+)/);
    const script = commandsOf(example)
      .filter((line) => !/^(npx|npm|cd) /.test(line))
      .map((line) => (/^curl(?!.* -o )/.test(line) ? `${line}; echo; echo ---` : line))
      .join('\n')
      .replace(/http:\/\/[\w.]+:3000/g, origin);
    const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', script]);
    const answers = stdout.split(/\n?---\n/).slice(0, -1);
    expect(answers).toEqual(printed.map((line) => expect.stringMatching(line)));
    if (login) {
      const [start, end] = login;
      expect((await new Browser().logIn(`${origin}${start}`, '3001')).text).toMatch(end);
    }
  });
});

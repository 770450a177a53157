import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { refusing } from '../../support/listen.js';
import { newPath } from '../../support/new-path.js';
import { cli, service } from './support.js';

describe('marketgate', () => {
  it.each([
    ['--help'],
    ['verify', '--help'],
    ['sandbox', '--help'],
    ['sandbox', 'set', '--help'],
    ['--version'],
  ])('%s %s is no mistake', async (...args) => {
    expect((await cli(args)).code).toBe(0);
  });

  it.each<[string[]]>([
    ...[
      ...['', 'nonsense', 'verify', 'verify x --nonsense', 'verify x', 'verify -'],
      ...['verify no-code!', 'verify x --base-url nowhere', 'doctor --timeout soon'],
      ...['doctor --timeout 0', 'verify x --env /', 'sandbox nonsense'],
      ...['sandbox --port x', 'sandbox --port 70000'],
      ...['sandbox --port 0 --dialect nonsense', 'sandbox --port 0 --fault errorRate=7'],
      ...['sandbox --port 0 --fault dialect.nulls'],
      ...['sandbox --port 0 --redirect-url nowhere', 'sandbox --port 0 --save-env /'],
      ...['sandbox --port 0 --host no.such.host.invalid', 'sandbox set'],
      ...['sandbox set bom --url nowhere'],
      ...['sandbox --port 0 --seed /does/not/exist.json'],
    ].map((line): [string[]] => [line.split(' ').filter(Boolean)]),
    [['verify', ' ']],
    [['sandbox', '--port', '']],
  ])('%j is wrong usage: exit code 2, and says why', async (args) => {
    const { code, out, err } = await cli(args, { MARKETPLACE_API_KEY: 'k' });
    expect(code).toBe(2);
    expect(`${out}${err}`.trim()).not.toBe('');
  });
});

describe('marketgate verify', () => {
  it('prints the facts of a valid code, and not the code', async () => {
    const { environment, code } = await service();
    const ran = await cli(['verify', code('supported')], environment);
    expect(ran.code).toBe(0);
    expect(ran.out).toMatch(/^Valid\.\nitem +1042 /);
    expect(ran.out).toMatch(/support +until 20\d\d-/);
    expect(ran.out).not.toContain(code('supported'));
  });

  it.each([
    ['supported', 0, true, 'Valid.'],
    ['refunded', 1, false, 'Not valid.'],
  ])('answers for a %s code in words and as JSON', async (kind, exitCode, valid, words) => {
    const { environment, code } = await service();
    const ran = await cli(['verify', code(kind)], environment);
    expect(ran).toMatchObject({ code: exitCode, out: expect.stringContaining(words) });
    const json = await cli(['verify', code(kind), '--json'], environment);
    expect([json.code, JSON.parse(json.out)]).toMatchObject([exitCode, { valid }]);
  });

  it('prints no control characters of the service, in words and as JSON', async () => {
    const { environment, sandbox } = await service();
    const license_type = 'Regular\x1b[2J\x9b2J\u202e';
    const { purchase_code } = Object.assign(sandbox.data.purchases[0] as never, { license_type });
    for (const flags of [[], ['--json']]) {
      const { code, out } = await cli(['verify', purchase_code, ...flags], environment);
      expect(code).toBe(0);
      expect(out).toContain('Regular');
      expect(out).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    }
  });

  it('does not say no when it could not find out, in words and as JSON', async () => {
    const { environment, code } = await service();
    const stopped = { ...environment, MARKETPLACE_BASE_URL: await refusing() };
    const error = 'service_unavailable';
    const ran = await cli(['verify', code('supported')], stopped);
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(error) });
    const json = await cli(['verify', code('supported'), '--json'], stopped);
    const answer = { valid: null, error: { code: error } };
    expect([json.code, JSON.parse(json.out)]).toMatchObject([2, answer]);
  });

  it.each([
    ['MARKETPLACE_API_KEY', 'put it in MARKETPLACE_API_KEY'],
    ['MARKETPLACE_BASE_URL', 'MARKETPLACE_BASE_URL must be an absolute'],
  ])('advice about a wrong %s names the variable', async (variable, advice) => {
    const { environment, code } = await service();
    const { err } = await cli(['verify', code('supported')], { ...environment, [variable]: 'x' });
    expect(err).toContain(advice);
  });

  it('takes flags before the environment', async () => {
    const { environment, code } = await service();
    const elsewhere = { ...environment, MARKETPLACE_BASE_URL: await refusing() };
    const flags = ['--base-url', environment.MARKETPLACE_BASE_URL];
    expect((await cli(['verify', code('supported'), ...flags], elsewhere)).code).toBe(0);
  });
});

describe('verify -', () => {
  it('reads the code from stdin', async () => {
    const { environment, code } = await service();
    const stdin = ` ${code('supported')}\n`;
    expect((await cli(['verify', '-'], environment, { stdin })).code).toBe(0);
  });

  it('is refused without a call when it cannot be a code, which is not repeated', async () => {
    const { environment, sandbox } = await service();
    const ran = await cli(['verify', '-'], environment, { stdin: 'some words' });
    expect(ran.code).toBe(2);
    expect(ran.err).toContain('cannot be a purchase code');
    expect(ran.err).not.toContain('some words');
    expect(sandbox.requests).toEqual([]);
  });
});

describe('--env', () => {
  const fileOf = async (text: string): Promise<string> => {
    const path = newPath('.env');
    await writeFile(path, text);
    return path;
  };

  it('is read by verify and doctor; is ./.env where that exists, and doctor says so', async () => {
    const { environment, code: codeOf } = await service();
    const lines = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const path = await fileOf(`# mine\n${lines.join('\n')}\n`);
    for (const flag of ['--env', '--env-file']) {
      expect((await cli(['verify', codeOf('supported'), flag, path])).code).toBe(0);
    }
    const { code, out } = await cli(['doctor'], {}, { cwd: dirname(path) });
    expect(code).toBe(0);
    expect(out).toContain(`read from ${path}`);
  });

  it('comes after flags and environment', async () => {
    const { environment, code } = await service();
    const path = await fileOf('MARKETPLACE_BASE_URL=https://other.example\nMARKETPLACE_API_KEY=x');
    const ran = await cli(['verify', code('supported'), '--env', path], environment);
    expect(ran.code).toBe(0);
  });

  it('that cannot be read is named', async () => {
    const { err } = await cli(['doctor', '--env', '/does/not/exist']);
    expect(err).toContain('--env: /does/not/exist cannot be read (ENOENT)');
  });

  it('is what doctor and verify name when settings are missing', async () => {
    expect((await cli(['doctor'])).out).toContain('--env');
    expect((await cli(['verify', 'x'])).err).toContain('--env');
  });
});

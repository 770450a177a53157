import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { refusing } from '../../support/listen.js';
import { newPath } from '../../support/new-path.js';
import { cli, service } from './support.js';

describe('marketgate', () => {
  it.each(['--help', 'verify --help', 'sandbox --help', 'sandbox set --help', '--version'])(
    '%s is no mistake',
    async (line) => {
      expect((await cli(line.split(' '))).code).toBe(0);
    },
  );

  it.each([
    ...['', 'nonsense', 'sandbox nonsense', 'verify', 'verify x --nonsense', 'verify x'],
    ...['verify x --app-id 1'],
    ...['verify no-code!', 'verify x --base-url nowhere', 'verify x --env /'],
    ...['doctor --timeout soon', 'doctor --timeout 0'],
  ])('"%s" is wrong usage: exit code 2, and says why', async (line) => {
    const args = line.split(' ').filter(Boolean);
    const { code, out, err } = await cli(args, { MARKETPLACE_API_KEY: 'k' });
    expect(code).toBe(2);
    expect(`${out}${err}`.trim()).not.toBe('');
  });
});

describe('marketgate verify', () => {
  it.each([
    ['supported', 0, true, /^Valid\.\nitem +1042 [\s\S]*supported_until +20\d\d-/],
    ['refunded', 1, false, /^Not valid\./],
  ])(
    'answers for a %s code in words, which do not repeat it, and as JSON',
    async (kind, exitCode, valid, words) => {
      const { environment, code } = await service();
      const ran = await cli(['verify', code(kind)], environment);
      expect(ran).toMatchObject({ code: exitCode, out: expect.stringMatching(words) });
      expect(ran.out).not.toContain(code(kind));
      const json = await cli(['verify', code(kind), '--json'], environment);
      expect([json.code, JSON.parse(json.out)]).toMatchObject([exitCode, { valid }]);
    },
  );

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

  it('- reads the code from stdin, and does not repeat what can be none', async () => {
    const { environment, code, sandbox } = await service();
    const words = await cli(['verify', '-'], environment, { stdin: 'some words' });
    expect([words.code, sandbox.requests]).toEqual([2, []]);
    expect(words.err).toContain('cannot be a purchase code');
    expect(words.err).not.toContain('some words');
    const stdin = ` ${code('supported')}\n`;
    expect((await cli(['verify', '-'], environment, { stdin })).code).toBe(0);
  });
});

describe('settings', () => {
  const fileOf = async (text: string): Promise<string> => {
    const path = newPath('.env');
    await writeFile(path, text);
    return path;
  };

  it('come from --env FILE or ./.env, after the environment, after flags', async () => {
    const { environment, code: codeOf } = await service();
    const lines = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const path = await fileOf(`# mine\n${lines.join('\n')}\n`);
    const verify = ['verify', codeOf('supported')];
    expect((await cli([...verify, '--env', path])).code).toBe(0);
    const { code, out } = await cli(['doctor'], {}, { cwd: dirname(path) });
    expect([code, out]).toEqual([0, expect.stringContaining(`read from ${path}`)]);
    const other = await fileOf('MARKETPLACE_BASE_URL=https://other.example\nMARKETPLACE_API_KEY=x');
    expect((await cli([...verify, '--env', other], environment)).code).toBe(0);
    const elsewhere = { ...environment, MARKETPLACE_BASE_URL: await refusing() };
    const flags = ['--base-url', environment.MARKETPLACE_BASE_URL];
    expect((await cli([...verify, ...flags], elsewhere)).code).toBe(0);
  });

  it('that are missing, or a file that cannot be read, are named', async () => {
    const { err } = await cli(['doctor', '--env', '/does/not/exist']);
    expect(err).toContain('--env: /does/not/exist cannot be read (ENOENT)');
    expect((await cli(['verify', 'x'])).err).toContain('--env');
    const ran = await cli(['doctor'], { MARKETPLACE_APP_ID: 'x' });
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('set MARKETPLACE_BASE_URL and MARKETPLACE_API_KEY');
    expect(ran.out).toContain('set MARKETPLACE_AUTH_URL and MARKETPLACE_APP_SECRET');
  });
});

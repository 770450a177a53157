import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { refusing } from '../../support/listen.js';
import { newPath } from '../../support/new-path.js';
import { cli, service } from './support.js';

describe('marketgate', () => {
  it.each([
    ['', /^Develop and diagnose[\s\S]*^ {2}doctor /m],
    ['--help', /^Develop and diagnose/],
    ['help', /^Develop and diagnose/],
    ['verify --help', /marketgate verify <code>/],
    ['sandbox --help', /sandbox refund <purchase_code>/],
    ['sandbox set --help', /sandbox set <switch\.\.\.>/],
    ['--version', /^\S+\n$/],
  ])('"%s" is no mistake: it prints the help', async (line, help) => {
    const ran = await cli(line.split(' ').filter(Boolean));
    expect(ran).toEqual({ code: 0, out: expect.stringMatching(help), err: '' });
  });

  it.each([
    ['docter', 'There is no command "docter"; did you mean "doctor"?'],
    ['sandbox renw', 'There is no command "sandbox renw"; did you mean "sandbox renew"?'],
    ['Sandbox Refund', 'There is no command "Sandbox"; did you mean "sandbox"?'],
    ['nonsense', 'There is no command "nonsense"; "marketgate --help" lists all'],
    ['sandbox nonsense', 'There is no command "sandbox nonsense"; "marketgate sandbox --help"'],
    // A code without its command is not repeated.
    ['6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10', 'There is no command; "marketgate --help"'],
    ['verify x --app-id 1', 'Unknown option \'--app-id\'; see "marketgate verify --help"'],
    ['verify x --jsno', "Unknown option '--jsno'; did you mean --json?"],
  ])('"%s" is a mistake that is named in one line: %s', async (line, sentence) => {
    const { code, out, err } = await cli(line.split(' '));
    expect([code, out, err]).toEqual([2, '', expect.stringContaining(sentence)]);
    expect(err.trim().split('\n')).toHaveLength(1);
  });

  it.each([
    ...['verify', 'verify x', 'verify no-code!', 'verify x --base-url nowhere'],
    ...[
      'verify x --env /',
      'doctor --timeout soon',
      'doctor --timeout 0s',
      'doctor --timeout 5',
      'doctor --timeout -5s',
    ],
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

  it('does not say no when it could not find out, and names the variable that is wrong', async () => {
    const { environment, code } = await service();
    const stopped = { ...environment, MARKETPLACE_BASE_URL: await refusing() };
    const error = 'service_unavailable';
    const ran = await cli(['verify', code('supported')], stopped);
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(error) });
    const json = await cli(['verify', code('supported'), '--json'], stopped);
    const answer = { valid: null, error: { code: error } };
    expect([json.code, JSON.parse(json.out)]).toMatchObject([2, answer]);
    const wrong = { ...environment, MARKETPLACE_API_KEY: 'wrong' };
    const { code: exitCode, err } = await cli(['verify', code('supported')], wrong);
    expect([exitCode, err]).toEqual([2, expect.stringContaining('put it in MARKETPLACE_API_KEY')]);
  });

  it('- reads the code from stdin, and does not repeat what can be none', async () => {
    const { environment, code, sandbox } = await service();
    const words = await cli(['verify', '-'], environment, { stdin: 'some wörds' });
    expect([words.code, sandbox.requests]).toEqual([2, []]);
    expect(words.err).toContain('cannot be a purchase code');
    expect(words.err).not.toContain('some wörds');
    const stdin = ` ${code('supported')}\n`;
    expect((await cli(['verify', '-'], environment, { stdin })).code).toBe(0);
  });
});

describe('marketgate explain', () => {
  it('names the code that was probably meant', async () => {
    const { code, err } = await cli(['explain', 'Stor_unavailable']);
    expect([code, err]).toEqual([2, expect.stringContaining('did you mean store_unavailable?')]);
  });

  it('wraps pages and lists at the width of the terminal, and leaves code alone', async () => {
    const list = (await cli(['explain'], {}, { columns: 80 })).out;
    expect(list.split('\n').filter(({ length }) => length > 80)).toEqual([]);
    const options = { columns: 60 };
    const { out } = await cli(['explain', 'service_unavailable'], {}, options);
    const page = (await cli(['explain', 'service_unavailable'])).out;
    expect(out.replace(/\s+/g, ' ')).toBe(page.replace(/\s+/g, ' '));
    for (const line of out.split('\n').filter(({ length }) => length > 60)) {
      expect(page).toContain(`\n${line}\n`);
    }
    expect(out).toMatch(/^- The network, DNS.*\n {2}\S/m);
    const help = await cli(['doctor', '--help'], {}, options);
    expect(help.out).toMatch(/^ {2}--env <path> .*\n {20,}\S/m);
  });
});

describe('settings', () => {
  const fileOf = async (text: string | Buffer): Promise<string> => {
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

  it.each([
    ['with a byte order mark', (text: string) => Buffer.from(`\uFEFF${text}`)],
    ['of Windows', (text: string) => Buffer.from(text.replaceAll('\n', '\r\n'))],
  ])('in a file %s are read', async (_kind, bytesOf) => {
    const { environment, code } = await service();
    const lines = Object.entries(environment).map(([name, value]) => `${name}=${value}\n`);
    const path = await fileOf(bytesOf(lines.join('')));
    expect((await cli(['verify', code('supported'), '--env', path])).code).toBe(0);
  });

  it.each([
    ['UTF-16', Buffer.from('\uFEFFPORT=1\n', 'utf16le'), 'is UTF-16, or no text; save it as UTF-8'],
    ['UTF-16 without a mark', Buffer.from('PORT=1\n', 'utf16le'), 'is UTF-16, or no text'],
    ['Latin-1', Buffer.from('# für mich\n', 'latin1'), 'is not UTF-8; save it as UTF-8'],
  ])('in a file in %s are refused in words', async (_kind, bytes, sentence) => {
    const path = await fileOf(bytes);
    const { code, err } = await cli(['verify', 'CODE-1', '--env', path]);
    expect([code, err]).toEqual([2, expect.stringContaining(`--env: ${path} ${sentence}`)]);
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

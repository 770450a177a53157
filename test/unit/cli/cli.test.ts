import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { processIo } from '../../../src/cli/io.js';
import { refusing } from '../../support/listen.js';
import { newPath } from '../../support/new-path.js';
import { cli, service } from './support.js';

describe('marketgate', () => {
  it.each<[string, RegExp]>([
    ['', /^Develop and diagnose[\s\S]*^ {2}doctor /m],
    ['help', /^Develop and diagnose[\s\S]*^ {2}help .* --help /m],
    ['-h', /^Develop and diagnose/],
    ['verify --help', /marketgate verify <code>/],
    ['help verify', /marketgate verify <code>/],
    ['sandbox help', /marketgate sandbox \[flags\]/],
    ['sandbox set --help', /sandbox set <switch\.\.\.>/],
    ['help sandbox set', /sandbox set <switch\.\.\.>/],
    ['sandbox help set', /sandbox set <switch\.\.\.>/],
    ['--version', /^\S+\n$/],
    ['version', /^\S+\n$/],
    ['-v', /^\S+\n$/],
    ['-V', /^\S+\n$/],
  ])('"%s" is no mistake: it prints the help, or the version', async (line, help) => {
    const ran = await cli(line.split(' ').filter(Boolean));
    expect(ran).toEqual({ code: 0, out: expect.stringMatching(help), err: '' });
  });

  it('has no width where the terminal says that it is 0 columns wide, as in docker -t', () => {
    vi.stubGlobal('process', Object.create(process, { stdout: { value: { columns: 0 } } }));
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(processIo.columns).toBeUndefined();
  });

  it.each([
    ['docter', 'There is no command "docter"; did you mean "doctor"?'],
    ['sandbox renw', 'There is no command "sandbox renw"; did you mean "sandbox renew"?'],
    ['help docter', 'There is no command "docter"; did you mean "doctor"?'],
    // A code without its command is not repeated.
    ['6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10', 'There is no command; "marketgate --help"'],
    ['verify', 'verify: <code> is missing'],
    ['verify x --app-id 1', 'Unknown option \'--app-id\'; see "marketgate verify --help"'],
    ['verify x --jsno', "Unknown option '--jsno'; did you mean --json?"],
    ['verify x', 'set MARKETPLACE_BASE_URL and MARKETPLACE_API_KEY'],
    ['verify x --env /', '--env: / cannot be read (EISDIR)'],
    ['doctor --timeout 0s', '--timeout must be a duration with its unit'],
    ['explain Stor_unavailable', 'did you mean store_unavailable?'],
  ])('"%s" is a mistake that is named in one line: %s', async (line, sentence) => {
    const { code, out, err } = await cli(line.split(' '));
    expect([code, out, err]).toEqual([2, '', expect.stringContaining(sentence)]);
    expect(err.trim().split('\n')).toHaveLength(1);
  });
});

describe('marketgate verify', () => {
  it.each([
    ['supported', 0, true, /^Valid\.\nitem +1042 [\s\S]*supported_until +20\d\d-/],
    ['refunded', 1, false, /^Not valid\./],
  ])(
    'answers for a %s code in words and as JSON, which do not repeat it',
    async (kind, exitCode, valid, words) => {
      const { environment, code } = await service();
      const ran = await cli(['verify', code(kind)], environment);
      expect(ran).toMatchObject({ code: exitCode, out: expect.stringMatching(words) });
      const json = await cli(['verify', code(kind), '--json'], environment);
      expect([json.code, JSON.parse(json.out)]).toMatchObject([exitCode, { valid }]);
      expect(ran.out + json.out).not.toContain(code(kind));
    },
  );

  it('prints no control characters of the service, in words and as JSON', async () => {
    const { environment, sandbox } = await service();
    const license_type = 'Regular\x1b[2J\x9b2J\u202e';
    const { purchase_code } = Object.assign(sandbox.data.purchases[0] as never, { license_type });
    for (const flags of [[], ['--json']]) {
      const { code, out } = await cli(['verify', purchase_code, ...flags], environment);
      expect([code, out]).toEqual([0, expect.stringContaining('Regular')]);
      expect(out).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    }
  });

  it('does not say no when it could not find out, and names the variable that is wrong', async () => {
    const { environment, code } = await service();
    const args = ['verify', code('supported')];
    const stopped = { ...environment, MARKETPLACE_BASE_URL: await refusing() };
    const err = expect.stringContaining('service_unavailable');
    expect(await cli(args, stopped)).toEqual({ code: 2, out: '', err });
    const json = await cli([...args, '--json'], stopped);
    const answer = { valid: null, error: { code: 'service_unavailable' } };
    expect([json.code, JSON.parse(json.out)]).toMatchObject([2, answer]);
    const wrong = await cli(args, { ...environment, MARKETPLACE_API_KEY: 'wrong' });
    const advice = expect.stringContaining('put it in MARKETPLACE_API_KEY');
    expect(wrong).toEqual({ code: 2, out: '', err: advice });
  });

  it('- refuses several codes, which would be asked about as one', async () => {
    const { environment, code, sandbox } = await service();
    const stdin = `${code('supported')}\r\n\n${code('extended')}\n`;
    const ran = await cli(['verify', '-'], environment, { stdin });
    expect(ran).toEqual({ code: 2, out: '', err: expect.stringContaining('one code at a time') });
    expect(sandbox.requests).toEqual([]);
  });

  it('- reads the code from stdin, and does not repeat what can be none', async () => {
    const { environment, code, sandbox } = await service();
    const words = await cli(['verify', '-'], environment, { stdin: 'some wörds' });
    expect([words.code, sandbox.requests]).toEqual([2, []]);
    expect(words.err).toMatch(/^(?!.*some wörds).*cannot be a purchase code/);
    const stdin = ` ${code('supported')}\n`;
    expect((await cli(['verify', '-'], environment, { stdin })).code).toBe(0);
  });
});

describe('settings', () => {
  const fileOf = async (text: string | Buffer): Promise<string> => {
    const path = newPath('.env');
    await writeFile(path, text);
    return path;
  };

  it('come from flags, else from the environment, else from --env FILE or ./.env, with a mark and ends of Windows', async () => {
    const { environment, code } = await service();
    const lines = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const path = await fileOf(`\uFEFF${lines.join('\r\n')}\r\n`);
    const verify = ['verify', code('supported')];
    expect((await cli([...verify, '--env', path])).code).toBe(0);
    const { code: exitCode, out } = await cli(['doctor'], {}, { cwd: dirname(path) });
    expect([exitCode, out]).toEqual([0, expect.stringContaining(`read from ${path}`)]);
    const other = await fileOf('MARKETPLACE_BASE_URL=https://other.example\nMARKETPLACE_API_KEY=x');
    expect((await cli([...verify, '--env', other], environment)).code).toBe(0);
    const elsewhere = { ...environment, MARKETPLACE_BASE_URL: await refusing() };
    const flags = ['--base-url', environment.MARKETPLACE_BASE_URL];
    expect((await cli([...verify, ...flags], elsewhere)).code).toBe(0);
  });

  it('of the environment come before those of the file, and doctor names them', async () => {
    const { environment } = await service();
    const { MARKETPLACE_API_KEY, MARKETPLACE_BASE_URL, ...others } = environment;
    const lines = Object.entries(others).map(([name, value]) => `${name}=${value}\n`);
    const path = await fileOf(`MARKETPLACE_API_KEY=x\nNODE_ENV=production\n${lines.join('')}`);
    const shell = { MARKETPLACE_API_KEY, MARKETPLACE_BASE_URL, NODE_ENV: 'development' };
    const { code, out } = await cli(['doctor', '--env', path], shell);
    expect([code, out]).toEqual([0, expect.stringContaining(`read from ${path}; `)]);
    expect(out).toMatch(
      /; from the environment, which comes first: MARKETPLACE_BASE_URL, MARKETPLACE_API_KEY, NODE_ENV$/m,
    );
  });

  it('do without a ./.env that cannot be read, and say why it was not read', async () => {
    const { environment, code } = await service();
    const cwd = newPath('folder');
    await mkdir(join(cwd, '.env'), { recursive: true });
    const verify = ['verify', code('supported')];
    expect((await cli(verify, environment, { cwd })).code).toBe(0);
    const why = `${join(cwd, '.env')} cannot be read (EISDIR)`;
    const doctor = await cli(['doctor'], environment, { cwd });
    expect([doctor.code, doctor.out]).toEqual([0, expect.stringContaining(why)]);
    expect((await cli(verify, {}, { cwd })).err).toContain(`set MARKETPLACE_BASE_URL and`);
    expect((await cli(verify, {}, { cwd })).err).toContain(why);
  });

  it.each([
    ['UTF-16', Buffer.from('\uFEFFPORT=1\n', 'utf16le'), 'is UTF-16, or no text; save it as UTF-8'],
    ['Latin-1', Buffer.from('# für mich\n', 'latin1'), 'is not UTF-8; save it as UTF-8'],
  ])('in a file in %s are refused in words', async (_kind, bytes, sentence) => {
    const path = await fileOf(bytes);
    const { code, err } = await cli(['verify', 'CODE-1', '--env', path]);
    expect([code, err]).toEqual([2, expect.stringContaining(`--env: ${path} ${sentence}`)]);
  });
});

import { readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/sandbox/actions.js';
import { createSandbox } from '../../../src/sandbox/index.js';
import { listen, refusing } from '../../support/listen.js';
import { newPath } from '../../support/new-path.js';
import { cli, service } from './support.js';

const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
const CALLBACK = 'http://localhost:3000/callback';
const OTHER = { MARKETPLACE_BASE_URL: 'https://other.example' };

const valuesOf = (out: string): Record<string, string> =>
  Object.fromEntries(
    [...out.matchAll(/^(MARKETPLACE_\w+)=(.+)$/gm)].map(([, name, value]) => [name, value]),
  );

/** Runs `marketgate sandbox` on a free port, until the callback has settled. */
const sandbox = (
  flags: readonly string[],
  whileRunning: (printed: string) => Promise<void> = async () => {},
  environment: NodeJS.ProcessEnv = {},
  cwd = '/nowhere',
) => cli(['sandbox', '--port', '0', ...flags], environment, { whileRunning, cwd });

describe('marketgate sandbox', () => {
  it('prints what to paste, what to try and what to do next, and stops when told to', async () => {
    const { code, out, err } = await sandbox([]);
    expect([code, err]).toEqual([0, '']);
    const { MARKETPLACE_BASE_URL: url = '', ...others } = valuesOf(out);
    expect(Object.keys(others)).toEqual([
      ...['MARKETPLACE_API_KEY', 'MARKETPLACE_AUTH_URL'],
      ...['MARKETPLACE_APP_ID', 'MARKETPLACE_APP_SECRET'],
    ]);
    expect(out).toContain(`${url}/sandbox/console`);
    expect(out).toContain(`Logins lead back to ${CALLBACK}\n`);
    for (const { code, state } of createSandbox().codes) {
      expect(out).toMatch(new RegExp(`^${code} +${state} +\\d+ +\\w+ +\\S`, 'm'));
    }
    expect(out).toMatch(/Ctrl\+C ends it\.\n$/);
    await expect(fetch(url)).rejects.toThrow();
  });

  it.each([
    ['no file', '', {}, true],
    ['the .env of this folder', '.env', {}, false],
    ['another file', 'dev.env', {}, true],
    ['the .env of this folder, over which the environment comes', '.env', OTHER, true],
    ['a .env that keeps another address', '.env', {}, true, OTHER],
  ])('names its address in the next commands, unless they find it: saved to %s', async (...row) => {
    const [, saved, environment, isNamed, kept = {}] = row;
    const cwd = dirname(newPath('.env'));
    const lines = Object.entries(kept).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(join(cwd, '.env'), lines.join(''));
    const flags = saved ? ['--save-env', join(cwd, saved)] : [];
    const { out } = await sandbox(flags, undefined, environment, cwd);
    const url = isNamed ? ` --url ${valuesOf(out).MARKETPLACE_BASE_URL}` : '';
    const refund = `^ +refund it +npx marketgate sandbox refund [\\w-]+${url}$`;
    expect(out).toMatch(new RegExp(refund, 'm'));
  });

  it('serves with the switches that were given, and prints a line per request, without control characters', async () => {
    const switches = ['--dialect', 'nulls,localised=de', '--dialect', 'tokenMinutes=1.5'];
    switches.push('--fault', 'latency=[1,2],rateLimit@/api/items/all');
    const { code, out } = await sandbox(switches, async (printed) => {
      const environment = valuesOf(printed);
      expect((await cli(['verify', CODE], environment)).code).toBe(0);
      // What a form on another website can send.
      const purchase_code = `${'a'.repeat(30)}\x1b[2J`;
      const body = new URLSearchParams({ api_key: 'x', purchase_code });
      const path = '/api/purchases/validation';
      await fetch(environment.MARKETPLACE_BASE_URL + path, { method: 'POST', body });
      const shown = await cli(['sandbox', 'show', '--json'], environment);
      expect(JSON.parse(shown.out)).toMatchObject({
        ...{ 'dialect.nulls': true, 'dialect.localised': 'de' },
        'dialect.tokenMinutes': 1.5,
        'faults.latency': [1, 2],
        'faults.rateLimit@/api/items/all': true,
      });
    });
    expect(code).toBe(0);
    const line = String.raw`^\d\d:\d\d:\d\d POST /api/purchases/validation`;
    expect(out).toMatch(new RegExp(`${line} …8d10 200 \\d+ ms$`, 'm'));
    expect(out).toMatch(new RegExp(`${line} … \\[2J 404 "Ungültiger Kaufcode" \\d+ ms$`, 'm'));
    expect(out).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it('leads the logins of every app back to localhost:3000, or where the flag says, unless it has its own', async () => {
    const path = newPath('seed.json');
    const app = (app_id: string) => ({ app_id, app_secret: 's', name: `App ${app_id}` });
    const apps = [app('1'), app('2'), { ...app('3'), redirect_url: 'https://there.example/in' }];
    await writeFile(path, JSON.stringify({ apps }));
    const mine = 'http://localhost:5000/mine';
    for (const [flags, here] of [
      [[], CALLBACK],
      [['--redirect-url', mine], mine],
    ] as const) {
      const goals: string[] = [];
      await sandbox(['--seed', path, ...flags], async (printed) => {
        for (const { app_id } of apps) {
          const accept = ['sandbox', 'accept-login', '3001', app_id];
          goals.push((await cli(accept, valuesOf(printed))).out.replace(/\?.*\n/, ''));
        }
      });
      expect(goals).toEqual([here, here, 'https://there.example/in']);
    }
  });

  it('warns where others could reach it, and in production', async () => {
    const production = { NODE_ENV: 'production' };
    const { code, err } = await sandbox(['--host', '0.0.0.0'], undefined, production);
    expect(code).toBe(0);
    expect(err).toMatch(/^Warning: .*0\.0\.0\.0.*\nWarning: NODE_ENV is production.*\n$/);
  });

  it.each([
    [['--save-env', '/no/such/dir/.env'], /^--save-env: \S+ cannot be written \(ENOENT\)/],
    [['--seed', import.meta.filename], /^--seed: \S+ is not JSON/],
    [['--redirect-url', 'nowhere'], /^--redirect-url: expected an absolute http/],
    [['--console-host', 'http://a.test'], /^--console-host: expected host names/],
    [['--fault', 'errorRate=7'], /^faults\.errorRate: expected a number from 0 to 1/],
    [['--host', 'nosuch.invalid'], /^Port 0 of nosuch\.invalid cannot be used \(E\w+\); .*--host/],
    [['--port', 'abc'], /^--port must be a whole number from 0 to 65535/],
    [
      ['--dialect'],
      /^sandbox: --dialect <switch\.\.\.> needs a value; see "marketgate sandbox --h/,
    ],
    [['--save-env', '--port', '1'], /^sandbox: --save-env <file> needs a value; see /],
  ])('names the flag that is wrong: %j', async (flags, sentence) => {
    const { code, err } = await sandbox(flags);
    expect([code, err]).toEqual([2, expect.stringMatching(sentence)]);
  });
});

describe('marketgate sandbox --save-env', () => {
  it('adds the settings and a SESSION_SECRET, and changes no line that is there', async () => {
    const [path, seed] = [newPath('.env'), newPath('seed.json')];
    // A value that needs quotes.
    const apps = [{ app_id: '1', app_secret: 'a#b "c"', name: 'Mine' }];
    await writeFile(seed, JSON.stringify({ apps }));
    const first = await sandbox(['--save-env', path, '--seed', seed]);
    const written = await readFile(path, 'utf8');
    expect(first.code).toBe(0);
    expect(parseEnv(written)).toMatchObject(valuesOf(first.out));
    expect(parseEnv(written).SESSION_SECRET).toMatch(/^[0-9a-f]{64}$/);
    // Windows has no such mode.
    if (process.platform !== 'win32') expect((await stat(path)).mode & 0o077).toBe(0);

    const mine = '# mine\nMARKETPLACE_API_KEY=my-own\nSESSION_SECRET=kept\nPORT=1';
    await writeFile(path, mine);
    const second = await sandbox(['--save-env', path]);
    const { MARKETPLACE_API_KEY: _, ...others } = valuesOf(second.out);
    const after = await readFile(path, 'utf8');
    expect(after.startsWith(`${mine}\n`)).toBe(true);
    const kept = { MARKETPLACE_API_KEY: 'my-own', SESSION_SECRET: 'kept', PORT: '1' };
    expect(parseEnv(after)).toEqual({ ...others, ...kept });
    expect(second.err).toContain('keeps other values of MARKETPLACE_API_KEY');
  });

  it.each([
    ['with a byte order mark', '\uFEFFPORT=1\n'],
    ['of Windows', 'PORT=1\r\nHOST=x\r\n'],
    ['with an empty variable', 'PORT=1\nSESSION_SECRET=\n'],
    ['with a quote that is open in the middle', 'A="x\nPORT=1\n'],
  ])('adds to a file %s, and everything is read as it was', async (_kind, text) => {
    const path = newPath('.env');
    await writeFile(path, text);
    const { code, err } = await sandbox(['--save-env', path]);
    expect([code, err.includes('byte order mark')]).toEqual([0, text.startsWith('\uFEFF')]);
    const after = await readFile(path, 'utf8');
    expect(after.startsWith(text)).toBe(true);
    expect(parseEnv(after.replace('\uFEFF', ''))).toMatchObject({
      ...parseEnv(text.replace('\uFEFF', '')),
      MARKETPLACE_API_KEY: expect.stringMatching(/^7d1f/),
      SESSION_SECRET: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(after.replaceAll('\r\n', '').includes('\n')).toBe(!text.includes('\r\n'));
  });

  it('leaves a file that is not in UTF-8 as it is, and says why', async () => {
    const path = newPath('.env');
    const bytes = Buffer.from('\uFEFFPORT=3000\n', 'utf16le');
    await writeFile(path, bytes);
    const { code, err } = await sandbox(['--save-env', path]);
    expect([code, err]).toEqual([2, expect.stringMatching(/is UTF-16.*save it as UTF-8/)]);
    expect(await readFile(path)).toEqual(bytes);
  });
});

describe('marketgate sandbox, on a sandbox that runs', () => {
  it('has a command for every action, help for each, and a list of the switches', async () => {
    const { out } = await cli(['sandbox', '--help']);
    for (const [name, { about, fields, list }] of Object.entries(ACTIONS)) {
      expect(out).toContain(`sandbox ${name} `);
      const help = await cli(['sandbox', name, '--help']);
      expect(help).toMatchObject({ code: 0, err: '', out: expect.stringContaining(about) });
      expect(help.out.includes(`by name: ${fields.join(', ')}`)).toBe(!list);
    }
    const switches = (await cli(['sandbox', 'switches'])).out;
    expect(switches).toMatch(/^faults\.latency +0 +Waits .*\n[\s\S]*^dialect\.echoState +false /m);
  });

  it('takes the values of fields in their order or by name, as text', async () => {
    const { sandbox, url } = await service();
    // Its address is found in ./.env.
    const cwd = dirname(newPath('.env'));
    await writeFile(join(cwd, '.env'), `MARKETPLACE_BASE_URL=${url}\n`);
    const control = async (line: string) => {
      const { code, out } = await cli(['sandbox', ...line.split(' ')], {}, { cwd });
      expect([line, code]).toEqual([line, 0]);
      return out.trim();
    };
    const now = sandbox.clock();
    await control('clock 1h');
    expect(sandbox.clock() - now).toBeGreaterThanOrEqual(3_600_000);
    await control('clock advance=-1h');
    expect(sandbox.clock() - now).toBeLessThan(3_600_000);
    await control('add-purchase 1042 license_type=Extended downloaded=true support=none');
    expect(sandbox.data.purchases.at(-1)).toMatchObject({ price: 180, downloaded: true });
    await control('add-item Own price={"regular":5,"extended":9} tags=["a"]');
    expect(sandbox.data.items.at(-1)).toMatchObject({ price: { regular: 5 }, tags: ['a'] });
    expect(await control('add-app Second redirect_url=http://a.example/?x=1')).toMatch(
      /^Second: app_id \d+, app_secret \w{32}$/,
    );
    expect(await control('codes')).toMatch(new RegExp(`^${CODE} +supported +1042 `, 'm'));
    expect(JSON.parse(await control('requests'))).toEqual([]);
    expect(JSON.parse(await control('export')).apps).toHaveLength(3);
    const on = await control('set errorRate=0.5 localised=de,html hang@/api/items/all');
    expect(on).toContain('On: faults.errorRate=0.5, faults.html=true, dialect.localised=de');
    expect(await control('show')).toBe(on);
    await control('reset faults data');
    expect([sandbox.data.apps.length, sandbox.faults.html]).toEqual([2, false]);
  });

  it('prints what a script wants alone on stdout, and the rest on stderr', async () => {
    const { environment } = await service();
    for (const [line, out, err] of [
      ['accept-login 3001', /^http:\S+\?auth_key=\w+\n$/, /^Open it in the/],
      ['add-purchase 1042', /^[\da-f-]{36}\n$/, /^Fjord Light \(1042\): Valid, with support until/],
      ['add-user kim', /^3006\n$/, /^kim can log in/],
      ['refund x', /^$/, /^no purchase has this code; "marketgate sandbox codes" lists them\n$/],
    ] as const) {
      const ran = await cli(['sandbox', ...line.split(' ')], environment);
      expect([line, ran.out]).toEqual([line, expect.stringMatching(out)]);
      expect(ran.err).toMatch(err);
      expect(ran.code).toBe(ran.out ? 0 : 2);
    }
  });

  it.each([
    ['--port 4720 set html', 'sandbox: too many arguments'],
    ['set html --port 4720', "sandbox set: Unknown option '--port'"],
    ['refund', 'sandbox refund: <purchase_code> is missing'],
    ['clock -1d', "Unknown option '-1'; write a value with its name, as in advance=-1d"],
    ['add-user ann user_mail=a@b.example', 'no field "user_mail"; did you mean user_email?'],
    ['set html --url nowhere', '--url must be the http address of a sandbox'],
  ])('refuses "sandbox %s", and says why', async (args, sentence) => {
    const { code, err } = await cli(['sandbox', ...args.split(' ')]);
    expect([code, err]).toEqual([2, expect.stringContaining(sentence)]);
  });

  it('ends with exit code 1 where no sandbox answers, or something else does', async () => {
    const gone = await refusing();
    const page = await listen((_req, res) => res.end('<h1>hello</h1>'));
    for (const [url, sentence] of [
      [gone, `no sandbox at ${gone}: the connection was refused`],
      [page, 'something else answers'],
    ] as const) {
      const ran = await cli(['sandbox', 'show', '--url', url]);
      expect(ran).toEqual({ code: 1, out: '', err: expect.stringContaining(sentence) });
    }
  });
});

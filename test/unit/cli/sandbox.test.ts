import { chmod, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/sandbox/actions.js';
import { createSandbox } from '../../../src/sandbox/index.js';
import { listen, refusing } from '../../support/listen.js';
import { newPath } from '../../support/new-path.js';
import { cli, service } from './support.js';

const valuesOf = (out: string): Record<string, string> =>
  Object.fromEntries(
    [...out.matchAll(/^(MARKETPLACE_\w+)=(.+)$/gm)].map(([, name, value]) => [name, value]),
  );

describe('marketgate sandbox', () => {
  it('prints what to paste and what to try, serves, and stops when told to', async () => {
    const ran = await cli(['sandbox', '--port', '0', '--redirect-url', 'http://localhost:3000/cb']);
    expect(ran.code).toBe(0);
    const values = valuesOf(ran.out);
    expect(Object.keys(values)).toEqual([
      'MARKETPLACE_BASE_URL',
      'MARKETPLACE_API_KEY',
      'MARKETPLACE_AUTH_URL',
      'MARKETPLACE_APP_ID',
      'MARKETPLACE_APP_SECRET',
    ]);
    expect(ran.out).toContain(`${values.MARKETPLACE_BASE_URL}/sandbox/console`);
    expect(ran.out).toContain('Logins lead back to http://localhost:3000/cb');
    // One code of each kind, with words.
    for (const { code, kind, description } of createSandbox().codes) {
      const row = `^${code} +${kind} +\\d+ +${description.slice(0, 5)}`;
      expect(ran.out).toMatch(new RegExp(row, 'm'));
    }
    await expect(fetch(values.MARKETPLACE_BASE_URL ?? '')).rejects.toThrow();
  });

  it('what it prints works while it runs', async () => {
    const switches = ['--dialect', 'nulls,localised=de', '--dialect', 'microseconds'];
    switches.push('--fault', 'latency=1,rateLimit@/api/items/all');
    const whileRunning = async (printed: string) => {
      const environment = valuesOf(printed);
      const supported = /^(\S+) +supported /m.exec(printed)?.[1] ?? '';
      expect((await cli(['verify', supported], environment)).code).toBe(0);
      const wrong = '00000000-0000-4000-8000-000000000000';
      expect((await cli(['verify', wrong], environment)).code).toBe(1);
      const url = environment.MARKETPLACE_BASE_URL ?? '';
      const shown = await cli(['sandbox', 'show', '--json', '--url', url]);
      expect(JSON.parse(shown.out)).toMatchObject({
        'dialect.nulls': true,
        'dialect.localised': 'de',
        'dialect.microseconds': true,
        'faults.latency': 1,
        'faults.bom': false,
        'faults.rateLimit@/api/items/all': true,
      });
    };
    expect.assertions(6);
    const { code, out } = await cli(['sandbox', '--port', '0', ...switches], {}, { whileRunning });
    expect(code).toBe(0);
    const line = String.raw`^\d\d:\d\d:\d\d POST /api/purchases/validation`;
    expect(out).toMatch(new RegExp(`${line} …8d10 200 \\d+ ms$`, 'm'));
    expect(out).toMatch(new RegExp(`${line} …0000 404 "Ungültiger Kaufcode" \\d+ ms$`, 'm'));
  });

  it('leads logins back to localhost:3000, unless the state file or the option says otherwise', async () => {
    const path = newPath('state.json');
    const goal = async (...flags: string[]) => {
      const { out } = await cli(['sandbox', '--port', '0', '--state', path, ...flags]);
      return /^Logins lead back to (.+)$/m.exec(out)?.[1];
    };
    expect(await goal()).toBe('http://localhost:3000/callback');
    const mine = 'http://localhost:5000/mine';
    expect(await goal('--redirect-url', mine)).toBe(mine);
    expect(await goal()).toBe(mine);
  });

  it('--save-env adds its settings and a SESSION_SECRET, and changes no line that is there', async () => {
    const path = newPath('.env');
    const first = await cli(['sandbox', '--port', '0', '--save-env', path]);
    const written = await readFile(path, 'utf8');
    expect(first.code).toBe(0);
    expect(parseEnv(written)).toMatchObject(valuesOf(first.out));
    expect(parseEnv(written).SESSION_SECRET).toMatch(/^[0-9a-f]{64}$/);
    // Windows has no such mode.
    const isOpen = async () =>
      process.platform !== 'win32' && ((await stat(path)).mode & 0o077) > 0;
    expect(await isOpen()).toBe(false);

    const mine = '# mine\nMARKETPLACE_API_KEY=my-own\nSESSION_SECRET=kept\nPORT=1';
    await writeFile(path, mine);
    await chmod(path, 0o644);
    const second = await cli(['sandbox', '--port', '0', '--save-env', path]);
    expect(await isOpen()).toBe(false);
    const { MARKETPLACE_API_KEY: _, ...others } = valuesOf(second.out);
    const after = await readFile(path, 'utf8');
    expect(after.startsWith(`${mine}\n`)).toBe(true);
    const kept = { MARKETPLACE_API_KEY: 'my-own', SESSION_SECRET: 'kept', PORT: '1' };
    expect(parseEnv(after)).toEqual({ ...others, ...kept });
    expect(second.err).toContain('keeps other values of MARKETPLACE_API_KEY');
  });

  it('--save-env writes what reads back the same, whatever a seed has for keys', async () => {
    const [path, seed] = [newPath('.env'), newPath('seed.json')];
    const app = { app_id: 'a #b', app_secret: `"it's"`, name: 'n' };
    await writeFile(seed, JSON.stringify({ apps: [app] }));
    await cli(['sandbox', '--port', '0', '--save-env', path, '--seed', seed]);
    expect(parseEnv(await readFile(path, 'utf8'))).toMatchObject({
      MARKETPLACE_APP_ID: app.app_id,
      MARKETPLACE_APP_SECRET: app.app_secret,
    });
    await writeFile(seed, JSON.stringify({ apps: [{ ...app, app_id: '1\nNODE_OPTIONS=x' }] }));
    const refused = await cli(['sandbox', '--port', '0', '--save-env', path, '--seed', seed]);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('seed.apps[0].app_id') });
  });

  it('ends its start with what to do next, with the address where that is needed', async () => {
    const path = newPath('.env');
    const { out } = await cli(['sandbox', '--port', '0']);
    const { MARKETPLACE_BASE_URL: url } = valuesOf(out);
    expect(out).toMatch(
      new RegExp(`^ +refund it +marketgate sandbox refund [\\w-]+ --url ${url}$`, 'm'),
    );
    expect(out).toMatch(/--save-env \.env$/m);
    expect(out).toMatch(/Ctrl\+C ends it\.\n$/);
    const saved = await cli(['sandbox', '--port', '0', '--save-env', path]);
    expect(saved.out).toMatch(/^ +refund it +marketgate sandbox refund [\w-]+$/m);
    expect(saved.out).not.toContain('--save-env');
  });

  it('stops when --save-env names a file that is no UTF-8 text, and leaves it alone', async () => {
    const path = newPath('.env');
    for (const text of [Buffer.from('\ufeffA=1\n', 'utf16le'), Buffer.from([0x41, 0xff, 0x0a])]) {
      await writeFile(path, text);
      const ran = await cli(['sandbox', '--port', '0', '--save-env', path]);
      expect(ran.code).toBe(2);
      expect(ran.err).toContain(`--save-env: ${path} is not UTF-8 text; save it as UTF-8`);
      expect(await readFile(path)).toEqual(text);
    }
  });

  it('stops when --save-env cannot be written', async () => {
    const ran = await cli(['sandbox', '--port', '0', '--save-env', '/no/such/dir/.env']);
    expect(ran.code).toBe(2);
    expect(ran.err).toContain('--save-env: /no/such/dir/.env cannot be written (ENOENT)');
    const { MARKETPLACE_BASE_URL: url = '' } = valuesOf(ran.out);
    expect(url).toMatch(/^http/);
    await expect(fetch(url)).rejects.toThrow();
  });

  it('prints no control characters of a request', async () => {
    const whileRunning = async (printed: string) => {
      const { MARKETPLACE_BASE_URL: url = '' } = valuesOf(printed);
      // What a form on another website can send.
      const purchase_code = `${'a'.repeat(30)}\x1b[2J`;
      const body = new URLSearchParams({ api_key: 'x', purchase_code });
      await fetch(`${url}/api/purchases/validation`, { method: 'POST', body });
    };
    const { out } = await cli(['sandbox', '--port', '0'], {}, { whileRunning });
    expect(out).toMatch(/ POST \/api\/purchases\/validation … \[2J 404 /);
    expect(out).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it('leads the logins of every app of a seed back to localhost:3000', async () => {
    const path = newPath('seed.json');
    const app = (app_id: string) => ({ app_id, app_secret: 's', name: `App ${app_id}` });
    const there = 'https://there.example/callback';
    const apps = [app('1'), app('2'), { ...app('3'), redirect_url: there }];
    await writeFile(path, JSON.stringify({ apps }));
    const goals = async (...flags: string[]) => {
      const goals: unknown[] = [];
      const whileRunning = async (printed: string) => {
        const { MARKETPLACE_BASE_URL: url = '' } = valuesOf(printed);
        for (const { app_id } of apps) {
          const page = await fetch(`${url}/api/oauth?app_id=${app_id}`);
          const policy = page.headers.get('content-security-policy') ?? '';
          goals.push(/form-action 'self' (\S+)$/.exec(policy)?.[1]);
        }
      };
      const args = ['sandbox', '--port', '0', '--seed', path, ...flags];
      const ran = await cli(args, {}, { whileRunning });
      expect(ran).toMatchObject({ code: 0, err: '' });
      return goals;
    };
    const here = 'http://localhost:3000';
    expect(await goals()).toEqual([here, here, 'https://there.example']);
    const mine = 'http://localhost:5000';
    const flags = ['--redirect-url', `${mine}/callback`];
    expect(await goals(...flags)).toEqual([mine, mine, 'https://there.example']);
  });

  it.each<[string, string[], NodeJS.ProcessEnv, RegExp[]]>([
    ['on loopback', [], {}, []],
    ['on loopback by name', ['--host', 'localhost'], { NODE_ENV: 'development' }, []],
    ['on all addresses of IPv6', ['--host', '::'], {}, [/listens on ::\. Anybody/]],
    ['in production', [], { NODE_ENV: 'production' }, [/NODE_ENV is production/]],
    [
      'in production, on all addresses',
      ['--host', '0.0.0.0'],
      { NODE_ENV: 'production' },
      [/listens on 0\.0\.0\.0/, /NODE_ENV is production/],
    ],
  ])('warns where others could reach it: %s', async (_where, flags, environment, warnings) => {
    const { code, err } = await cli(['sandbox', '--port', '0', ...flags], environment);
    expect(code).toBe(0);
    const lines = err.split('\n').filter(Boolean);
    expect(lines).toEqual(warnings.map((warning) => expect.stringMatching(warning)));
    for (const line of lines) expect(line).toMatch(/^Warning: /);
  });

  it('says that a port is taken', async () => {
    const { url } = await service();
    const ran = await cli(['sandbox', '--port', new URL(url).port]);
    expect(ran.code).toBe(2);
    expect(ran.err).toContain('is taken; choose another with --port');
  });

  it('leaves the state file of a running sandbox alone when the port is taken', async () => {
    const path = newPath('state.json');
    const flags = ['sandbox', '--state', path, '--port'];
    expect((await cli([...flags, '0'])).code).toBe(0);
    const before = [await readFile(path, 'utf8'), (await stat(path, { bigint: true })).mtimeNs];
    const { url } = await service();
    const ran = await cli([...flags, new URL(url).port, '--dialect', 'nulls']);
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('is taken')]);
    const after = [await readFile(path, 'utf8'), (await stat(path, { bigint: true })).mtimeNs];
    expect(after).toEqual(before);
  });

  it.each([
    [['--host', 'nosuch.invalid'], /^--host nosuch\.invalid cannot be used \(E\w+\)/],
    [['--host', '192.0.2.1'], /^--host 192\.0\.2\.1 cannot be used \(EADDRNOTAVAIL\)/],
    [['--port', '70000'], /^--port must be a whole number from 0 to 65535/],
    [['--port', 'abc'], /^--port must be a whole number from 0 to 65535/],
  ])('names the flag that is wrong: %j', async (flags, sentence) => {
    const { code, err } = await cli(['sandbox', '--port', '0', ...flags]);
    expect([code, err]).toEqual([2, expect.stringMatching(sentence)]);
  });

  it('lists every switch, with words, without a sandbox', async () => {
    const { code, out } = await cli(['sandbox', 'switches']);
    expect(code).toBe(0);
    const { faults, dialect } = createSandbox();
    for (const [group, switches] of Object.entries({ faults, dialect })) {
      for (const name of Object.keys(switches)) {
        expect(out).toMatch(new RegExp(`^${group}\\.${name} `, 'm'));
      }
    }
  });
});

describe('marketgate sandbox, on a sandbox that runs', () => {
  const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';

  it('has a command for every action, and help for each', async () => {
    const { out } = await cli(['sandbox', '--help']);
    for (const [name, { about, fields }] of Object.entries(ACTIONS)) {
      expect(out).toContain(`sandbox ${name} `);
      const help = await cli(['sandbox', name, '--help']);
      expect(help).toMatchObject({ code: 0, err: '', out: expect.stringContaining(about) });
      if (/^(add|accept)-/.test(name)) expect(help.out).toContain(fields.join(', '));
    }
  });

  it('finds its address in the environment, or in ./.env', async () => {
    const { sandbox, url, environment } = await service();
    const path = newPath('.env');
    await writeFile(path, `MARKETPLACE_BASE_URL=${url}\n`);
    await rename(path, join(dirname(path), '.env'));
    const ran = await cli(['sandbox', 'refund', CODE], {}, { cwd: dirname(path) });
    expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('Was refunded') });
    expect((await cli(['sandbox', 'unrefund', CODE], environment)).code).toBe(0);
    expect(sandbox.data.purchases[0]?.void).toBeUndefined();
  });

  it('takes the values of fields in their order or by name, as text', async () => {
    const { sandbox, environment } = await service();
    const control = async (...args: string[]) => {
      const { code, out, err } = await cli(['sandbox', ...args], environment);
      expect([args, code, err]).toEqual([args, 0, '']);
      return out.trim();
    };
    expect(await control('accept-login', '3002')).toMatch(
      /^http:\/\/localhost:3000\/callback\?auth_key=\w+$/,
    );
    const now = sandbox.clock();
    await control('clock', '1h');
    expect(sandbox.clock() - now).toBeGreaterThanOrEqual(3_600_000);
    await control('clock', 'reset=true');
    await control(
      'add-purchase',
      '1042',
      'license_type=Extended',
      'downloaded=true',
      'support=none',
    );
    expect(sandbox.data.purchases.at(-1)).toMatchObject({ price: 180, downloaded: true });
    await control('add-item', 'Own', 'price={"regular":5,"extended":9}', 'tags=["a"]');
    expect(sandbox.data.items.at(-1)).toMatchObject({ price: { regular: 5 }, tags: ['a'] });
    expect(await control('add-app', 'Second', 'redirect_url=http://a.example/?x=1')).toMatch(
      /^app_secret +\w{32}$/m,
    );
    await control('renew', CODE);
    expect(await control('codes')).toMatch(new RegExp(`^${CODE} +supported +1042 `, 'm'));
    expect(JSON.parse(await control('requests'))).toEqual([]);
    const file = newPath('snapshot.json');
    await writeFile(file, await control('snapshot'));
    await control('set', 'hang@/api/items/all', 'latency=[1,2]');
    expect(await control('show')).toMatch(/^faults\.hang@\/api\/items\/all +true +Never answers$/m);
    expect(sandbox.faults.latency).toEqual([1, 2]);
    await control('reset', 'faults', 'data');
    expect([sandbox.faults.latency, sandbox.data.apps.length]).toEqual([0, 2]);
    await control('restore', file);
    expect(sandbox.data.apps).toHaveLength(3);
  });

  it('flips switches of a sandbox that runs, and puts them back', async () => {
    const { sandbox, url } = await service();
    const control = (...args: string[]) => cli(['sandbox', ...args, '--url', url]);
    const set = await control('set', 'errorRate=0.5', 'localised=de,nulls', 'faults.rateLimit=5');
    expect(set).toMatchObject({ code: 0, err: '' });
    expect(set.out).toMatch(/^faults\.errorRate +0\.5 /m);
    expect({ ...sandbox.faults }).toMatchObject({ errorRate: 0.5, rateLimit: 5 });
    const { dialect } = sandbox;
    expect({ ...dialect }).toMatchObject({ nulls: true, localised: 'de', rateLimit: false });
    const json = 'faults.rateLimit={"form":"http-date"}';
    await control('set', 'nulls=off', json, 'faults.warnings=on', 'bom', 'only=/api/items/all');
    expect(sandbox.dialect.nulls).toBe(false);
    expect({ ...sandbox.faults }).toMatchObject({
      rateLimit: { form: 'http-date' },
      warnings: true,
      bom: true,
      only: '/api/items/all',
    });
    expect((await control('show')).out).toContain('dialect.localised');
    await control('reset', 'errorRate');
    expect({ ...sandbox.faults }).toMatchObject({ errorRate: 0, rateLimit: { form: 'http-date' } });
    expect((await control('reset')).out).toContain('No switch is on.');
    const initial = createSandbox();
    const switches = { ...sandbox.faults, ...sandbox.dialect };
    expect(switches).toEqual({ ...initial.faults, ...initial.dialect });
  });

  it.each([
    [['redirect=https://a.example/x,y'], { redirect: 'https://a.example/x,y' }],
    [
      ['redirect=https://a.example/x,y,only=/api/a,b,bom', 'faults.latency=5,html'],
      { redirect: 'https://a.example/x,y', only: '/api/a,b', bom: true, latency: 5, html: true },
    ],
    [
      ['redirect={"location":"https://a.example/x,bom"}'],
      { redirect: { location: 'https://a.example/x,bom' } },
    ],
  ])('set %j: a comma in a value does not end it', async (given, expected) => {
    const { sandbox, url } = await service();
    expect(await cli(['sandbox', 'set', ...given, '--url', url])).toMatchObject({ code: 0 });
    expect({ ...sandbox.faults }).toMatchObject(expected);
  });

  it.each([
    ['redirect=https://a.example/x,latancy=5', 'latancy: there is no such switch'],
    ['html,latancy', 'latancy: there is no such switch'],
    ['latancy=5', 'latancy: there is no such switch'],
    ['errorRate=7', 'faults.errorRate: expected a number from 0 to 1'],
    ['rateLimit', 'say faults.rateLimit or dialect.rateLimit'],
  ])('set bom %s: exit code 2, says why, and sets nothing', async (wrong, sentence) => {
    const { sandbox, url } = await service();
    const ran = await cli(['sandbox', 'set', 'bom', wrong, '--url', url]);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain(sentence);
    expect(sandbox.faults.bom).toBe(false);
  });

  it.each(['--dialect', '--fault'])('%s alone says where the switches are', async (flag) => {
    const { code, err } = await cli(['sandbox', flag]);
    expect(code).toBe(2);
    expect(err).toMatch(/argument missing; see "marketgate sandbox --help"$/m);
    expect((await cli(['sandbox', '--help'])).out).toContain('"marketgate sandbox switches" lists');
  });

  it.each([
    ['--port 4720 set bom', 'sandbox: too many arguments; "set" comes first'],
    ['set bom --port 4720', "sandbox set: Unknown option '--port'"],
    ['refund', 'sandbox refund: <purchase_code> is missing'],
    ['refund a b', 'too many arguments'],
    ['clock 1 2 3 4', 'its fields are advance?, set?, reset?'],
  ])('refuses "sandbox %s", and says why', async (args, sentence) => {
    const { code, err } = await cli(['sandbox', ...args.split(' ')]);
    expect([code, err]).toEqual([2, expect.stringContaining(sentence)]);
  });

  it('exit code 1 where no sandbox answers, or something else does', async () => {
    const url = await refusing();
    const gone = await cli(['sandbox', 'set', 'bom', '--url', url]);
    expect(gone).toMatchObject({ code: 1, out: '' });
    expect(gone.err).toContain(`no sandbox at ${url}: the connection was refused`);
    const page = await listen((_req, res) => res.end('<h1>hello</h1>'));
    const other = await cli(['sandbox', 'show', '--url', page]);
    expect(other.code).toBe(1);
    expect(other.err).toContain('something else answers');
  });

  it.each([[], ['--json']])('prints no control characters of an answer %s', async (...flags) => {
    const text = 'a\x1b[2J\x9b2J\u202eb';
    const values = { 'faults.redirect': text, [`faults.${text}`]: text };
    const url = await listen((_req, res) => {
      res.setHeader('x-marketgate-sandbox', 'true').end(JSON.stringify(values));
    });
    const { code, out } = await cli(['sandbox', 'show', '--url', url, ...flags]);
    expect(code).toBe(0);
    expect(out).toContain('faults.redirect');
    expect(out).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    if (flags.length > 0) expect(JSON.parse(out)).toEqual(values);
  });
});

import type { RequestListener } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { connectionChecks } from '../../../src/cli/doctor.js';
import { run } from '../../../src/cli/program.js';
import { KeyApi } from '../../../src/clients/key-api.js';
import { LoginApi } from '../../../src/clients/login-api.js';
import { https, listen, refusing } from '../../support/listen.js';
import { TestAuthority } from './certificates.js';
import { cli, diagnose, service } from './support.js';

const WELL = {
  'key API': 'ok',
  reachable: 'ok',
  https: 'skipped',
  certificate: 'skipped',
  clock: 'ok',
  api_key: 'ok',
  items: 'ok',
  login: 'ok',
  'login page': 'ok',
  app: 'ok',
  redis: 'skipped',
};

describe('marketgate doctor', () => {
  it('finds nothing wrong with a sandbox, in words too', async () => {
    const { environment } = await service();
    expect(await diagnose(environment)).toMatchObject({ code: 0, found: WELL });
    const words = await cli(['doctor'], environment);
    expect(words.code).toBe(0);
    expect(words.out).toMatch(/^ok +api_key +accepted; the account of Ingrid Halvorsen$/m);
    expect(words.out).toMatch(/^ok +items +readable; \d+$/m);
  });

  it('calls a sandbox in production wrong, whatever works there', async () => {
    const { environment, sandbox } = await service();
    const production = { ...environment, NODE_ENV: 'production' };
    const diagnosis = await diagnose(production);
    expect(diagnosis).toMatchObject({
      code: 1,
      found: {
        'key API': 'wrong',
        reachable: 'skipped',
        api_key: 'skipped',
        items: 'skipped',
        login: 'wrong',
        'login page': 'skipped',
        app: 'skipped',
      },
    });
    expect(Object.values(diagnosis.found)).not.toContain('ok');
    for (const check of ['key API', 'login']) {
      expect(diagnosis.said[check]).toContain('a marketgate sandbox, and NODE_ENV is production');
    }
    // Also by name, and where the path ends in a slash.
    const named = `${environment.MARKETPLACE_BASE_URL.replace('127.0.0.1', 'localhost')}/`;
    expect((await diagnose({ ...production, MARKETPLACE_BASE_URL: named })).code).toBe(1);
    Object.assign(sandbox.faults, { errorRate: 1 });
    expect((await diagnose(production)).found).toMatchObject({ 'key API': 'wrong' });
  });

  it('looks at production as at anything else', async () => {
    const production = { NODE_ENV: 'production', MARKETPLACE_API_KEY: 'x' };
    const url = await listen((_req, res) => res.end('{}'));
    const { found } = await diagnose({ ...production, MARKETPLACE_BASE_URL: url });
    expect(found).toMatchObject({ 'key API': 'ok', reachable: 'ok', api_key: 'unknown' });
    const silently = { ...production, MARKETPLACE_BASE_URL: await listen(() => undefined) };
    const silent = await diagnose(silently, '--timeout', '200');
    expect(silent.found).toMatchObject({ 'key API': 'ok', reachable: 'wrong' });
  });

  it('takes a --timeout longer than a timer can be', async () => {
    const { environment } = await service();
    const { found } = await diagnose(environment, '--timeout', '99999999999');
    expect(found).toMatchObject({ reachable: 'ok', api_key: 'ok' });
  });

  it('colors what it found, on a terminal that takes colors', async () => {
    const { environment } = await service();
    const { out } = await cli(['doctor'], environment, { isTerminal: true });
    expect(out).toContain('\x1b[32mok     \x1b[39m  api_key');
    expect((await cli(['doctor'], environment)).out).not.toContain('\x1b');
  });

  it.each([
    ['http://localhost:3000', 'skipped'],
    ['http://app.localhost', 'skipped'],
    ['http://127.8.9.1', 'skipped'],
    ['http://[::1]:80', 'skipped'],
    ['http://localhost.evil.example', 'warning'],
    ['http://127.0.0.1.evil.example', 'warning'],
    ['http://market.example', 'warning'],
    ['https://market.example', 'ok'],
  ])('knows where the requests to %s can be read: %s', async (url, status) => {
    const [found] = (await connectionChecks('baseUrl', url, 100).https?.()) ?? [];
    expect(found).toBe(status);
  });

  it.each<[string, object, object]>([
    ['fails', { errorRate: 1 }, { api_key: 'unknown', items: 'skipped', app: 'unknown' }],
    ['limits requests', { rateLimit: 0 }, { api_key: 'unknown', items: 'skipped', app: 'unknown' }],
    ['shows HTML pages', { html: true }, { api_key: 'unknown', items: 'skipped', app: 'unknown' }],
    ['fails for items', { errorRate: 1, only: '/api/items/all' }, { items: 'unknown' }],
    ['hangs', { hang: true }, { api_key: 'unknown', items: 'skipped', app: 'unknown' }],
  ])('a service that %s says nothing about the settings: unknown, not wrong', async (...given) => {
    const [, faults, expected] = given;
    const { environment, sandbox } = await service();
    Object.assign(sandbox.faults, faults);
    const { code, out, found } = await diagnose(environment, '--timeout', '500');
    expect(found).toEqual({ ...WELL, ...expected });
    expect({ code, ok: JSON.parse(out).ok }).toEqual({ code: 1, ok: false });
  });

  it('a login page that fails is unknown, not wrong', async () => {
    const { environment } = await service();
    const url = await listen((_req, res) => res.writeHead(503).end());
    const { code, found } = await diagnose({ ...environment, MARKETPLACE_AUTH_URL: url });
    expect(found).toMatchObject({ 'login page': 'unknown', app: 'skipped' });
    expect(code).toBe(1);
  });

  it.each<[string, object, string, string]>([
    ['key', { MARKETPLACE_API_KEY: 'x' }, 'api_key', 'put it in MARKETPLACE_API_KEY'],
    [
      'secret',
      { MARKETPLACE_APP_SECRET: 'x' },
      'app',
      'compare MARKETPLACE_APP_ID and MARKETPLACE_APP_SECRET with',
    ],
    ['address', { MARKETPLACE_BASE_URL: 'x' }, 'key API', 'MARKETPLACE_BASE_URL must be an absol'],
    ['login address', { MARKETPLACE_AUTH_URL: 'x' }, 'login', 'MARKETPLACE_AUTH_URL must be an ab'],
    [
      'address in plain http',
      { MARKETPLACE_BASE_URL: 'http://market.example' },
      'key API',
      '(--allow-insecure permits it)',
    ],
  ])(
    'advice names variables and flags, not the options of the clients: wrong %s',
    async (...given) => {
      const [, wrong, check, advice] = given;
      const { environment } = await service();
      const { out, said } = await diagnose({ ...environment, ...wrong });
      expect(said[check]).toContain(advice);
      expect(out).not.toMatch(/apiKey|appId|appSecret|baseUrl|authUrl|allowInsecure/);
    },
  );

  it.each([
    ['MARKETPLACE_BASE_URL', 'reachable'],
    ['MARKETPLACE_AUTH_URL', 'login reachable'],
  ])('advice about an address where nothing answers names %s', async (variable, check) => {
    const { environment } = await service();
    const { said } = await diagnose({ ...environment, [variable]: await refusing() });
    expect(said[check]).toContain(`check ${variable}`);
  });

  it('names the variables that are missing', async () => {
    const ran = await cli(['doctor'], { MARKETPLACE_APP_ID: 'x' });
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('set MARKETPLACE_BASE_URL and MARKETPLACE_API_KEY');
    expect(ran.out).toContain('set MARKETPLACE_AUTH_URL and MARKETPLACE_APP_SECRET');
  });
});

it('doctor closes its clients also when it cannot print', async () => {
  const closed = [KeyApi, LoginApi].map((each) => vi.spyOn(each.prototype, 'close'));
  const { environment } = await service();
  const out = (text: string) => {
    if (text.includes('login page')) throw new Error('no output');
  };
  const io = { out, err: () => {}, read: async () => '' };
  const untilStopped = async () => {};
  await expect(run(['doctor'], { io, environment, cwd: '/nowhere', untilStopped })).rejects.toThrow(
    'no output',
  );
  expect(closed.map((each) => each.mock.calls.length)).toEqual([1, 2]);
});

describe('each check', () => {
  const SECRET = `${'f'.repeat(63)}0`;

  it.each([
    ['MARKETPLACE_API_KEY', SECRET, { api_key: 'wrong', items: 'skipped' }],
    ['MARKETPLACE_APP_SECRET', SECRET, { app: 'wrong' }],
    ['MARKETPLACE_APP_ID', '1', { 'login page': 'warning', app: 'wrong' }],
  ])('a wrong %s, which is not shown', async (name, value, expected) => {
    const { environment } = await service();
    const diagnosis = await diagnose({ ...environment, [name]: value });
    expect(diagnosis).toMatchObject({ code: 1, found: { ...WELL, ...expected } });
    expect(diagnosis.out).not.toContain(SECRET);
  });

  // The endless one is not read to its end.
  it.each([{ truncated: true }, { endless: 'slow' as const }])('items %j', async (faults) => {
    const { environment, sandbox } = await service();
    Object.assign(sandbox.faults, faults, { only: '/api/items/all' });
    const diagnosis = await diagnose(environment, '--timeout', '500');
    expect(diagnosis).toMatchObject({ code: 1, found: { ...WELL, items: 'unknown' } });
  });

  it('an app without a redirect URL is a warning, no failure', async () => {
    const { environment, sandbox } = await service();
    sandbox.redirectUrl = undefined;
    const diagnosis = await diagnose(environment);
    expect(diagnosis).toMatchObject({ code: 0, found: { ...WELL, 'login page': 'warning' } });
    expect(diagnosis.said['login page']).toContain('redirect URL');
  });

  it('an app that an older deployment knows only by GET is a warning, a wrong secret is none', async () => {
    const { environment, sandbox } = await service();
    sandbox.dialect.authorizeMethod = 'get';
    const diagnosis = await diagnose(environment);
    expect(diagnosis).toMatchObject({ code: 0, found: { ...WELL, app: 'warning' } });
    expect(diagnosis.said.app).toContain("authorizeMethod: 'get'");
    const wrong = await diagnose({ ...environment, MARKETPLACE_APP_SECRET: SECRET });
    expect(wrong).toMatchObject({ code: 1, found: { ...WELL, app: 'wrong' } });
    expect(wrong.out).not.toContain(SECRET);
  });

  const UNSAFE = { 'key API': 'wrong', reachable: 'skipped', items: 'skipped' };
  const UNREACHED = { reachable: 'wrong', clock: 'skipped', api_key: 'skipped', login: 'ok' };
  const NO_SERVICE = { reachable: 'ok', api_key: 'unknown', items: 'skipped' };
  const UNTRUSTED = { certificate: 'wrong', login: 'ok' };
  const NO_HOST = /the host name (is unknown|could not be looked up)/;
  const NOTHING = /no answer within 200 ms/;
  const empty: RequestListener = (_req, res) => res.end('{}');
  const html: RequestListener = (_req, res) =>
    res.setHeader('content-type', 'text/html').end('<h1>nginx</h1>');
  const timeless: RequestListener = (_req, res) => {
    res.sendDate = false;
    res.end('{}');
  };
  const plain = async () => (await listen(empty)).replace('http:', 'https:');
  const unknown = () => https(new TestAuthority().issue());

  it.each<[string, () => Promise<string> | string, object, string, RegExp, ...string[]]>([
    ['plain http', () => 'http://market.example', UNSAFE, 'key API', /must be https/],
    ['a closed port', refusing, UNREACHED, 'reachable', /the connection was refused/],
    ['a host nobody knows', () => 'https://no.such.invalid', UNREACHED, 'reachable', NO_HOST],
    ['silence', () => listen(() => {}), UNREACHED, 'reachable', NOTHING, '--timeout', '200'],
    ['an HTML page in its place', () => listen(html), NO_SERVICE, 'api_key', /HTML|JSON/],
    ['no time', () => listen(timeless), { clock: 'skipped' }, 'clock', /no Date header/],
    [
      'https to plain http',
      plain,
      { reachable: 'wrong' },
      'reachable',
      /the port does not speak TLS/,
    ],
    ['an unknown authority', unknown, UNTRUSTED, 'certificate', /certificate cannot be verified/],
  ])('%s', async (_name, serve, expected, check, sentence, ...flags) => {
    const { environment } = await service();
    const wrong = { ...environment, MARKETPLACE_BASE_URL: await serve() };
    const { code, found, said } = await diagnose(wrong, ...flags);
    expect(code).toBe(1);
    expect(found).toMatchObject(expected);
    expect(said[check]).toMatch(sentence);
  });

  it('a login page that is none, and one that cannot be reached', async () => {
    const { environment } = await service();
    const json = await listen((_req, res) =>
      res.setHeader('content-type', 'application/json').end('{"message":"no"}'),
    );
    const { found, said } = await diagnose({ ...environment, MARKETPLACE_AUTH_URL: json });
    expect(found).toMatchObject({ 'login reachable': 'ok', 'login page': 'wrong', app: 'skipped' });
    expect(said['login page']).toContain('not a page, but application/json');
    const url = await refusing();
    const gone = { MARKETPLACE_BASE_URL: url, MARKETPLACE_AUTH_URL: url };
    const both = await diagnose({ ...environment, ...gone });
    expect(both.found).toMatchObject({ 'login page': 'unknown', app: 'skipped' });
  });

  it.each([
    [3_600_000, 'this machine is 3600 s behind the service'],
    [-120_000, 'this machine is 120 s ahead of the service'],
  ])('a clock that is off by %i ms', async (skew, sentence) => {
    const { environment } = await service();
    const url = await listen((_req, res) => {
      // Whole seconds, as in every Date header.
      res.setHeader('date', new Date(Math.round(Date.now() / 1000) * 1000 + skew).toUTCString());
      res.end('{}');
    });
    const { found, said } = await diagnose({ ...environment, MARKETPLACE_BASE_URL: url });
    expect(found.clock).toBe('wrong');
    const rounded = said.clock?.replace(/\d+/, (n) => String(Math.round(Number(n) / 10) * 10));
    expect(rounded).toContain(sentence);
  });
});

describe('doctor looks at certificates', () => {
  it('a self-signed one: nothing is sent there', async () => {
    const { environment } = await service();
    let asked = 0;
    const url = await https(new TestAuthority().selfSigned(), () => asked++);
    const { code, found, said } = await diagnose({ ...environment, MARKETPLACE_BASE_URL: url });
    expect(code).toBe(1);
    expect(found).toMatchObject({
      reachable: 'ok',
      https: 'ok',
      certificate: 'wrong',
      clock: 'skipped',
      api_key: 'skipped',
    });
    expect(said.certificate).toContain('self-signed; NODE_EXTRA_CA_CERTS');
    expect(asked).toBe(0);
  });

  it('of another host of the login, checked on its own', async () => {
    const { environment } = await service();
    const url = await https(new TestAuthority().selfSigned());
    const { found } = await diagnose({ ...environment, MARKETPLACE_AUTH_URL: url });
    expect(found).toMatchObject({
      certificate: 'skipped',
      api_key: 'ok',
      'login certificate': 'wrong',
      'login page': 'skipped',
      app: 'skipped',
    });
  });
});

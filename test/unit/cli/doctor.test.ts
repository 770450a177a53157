import { describe, expect, it } from 'vitest';
import { http, refusing } from './servers.js';
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
    const url = await http((_req, res) => res.end('{}'));
    const { found } = await diagnose({ ...production, MARKETPLACE_BASE_URL: url });
    expect(found).toMatchObject({ 'key API': 'ok', reachable: 'ok', api_key: 'wrong' });
    const hanging = await http(() => undefined);
    const silent = await diagnose(
      { ...production, MARKETPLACE_BASE_URL: hanging },
      '--timeout',
      '200',
    );
    expect(silent.found).toMatchObject({ 'key API': 'ok', reachable: 'wrong' });
  });

  it('names the variables that are missing', async () => {
    const ran = await cli(['doctor'], { MARKETPLACE_APP_ID: 'x' });
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('set MARKETPLACE_BASE_URL and MARKETPLACE_API_KEY');
    expect(ran.out).toContain('set MARKETPLACE_AUTH_URL and MARKETPLACE_APP_SECRET');
  });
});

describe('each check', () => {
  it('a wrong api_key', async () => {
    const { environment } = await service();
    const secret = `${'f'.repeat(63)}0`;
    const diagnosis = await diagnose({ ...environment, MARKETPLACE_API_KEY: secret });
    expect(diagnosis).toMatchObject({
      code: 1,
      found: { ...WELL, api_key: 'wrong', items: 'skipped' },
    });
    expect(diagnosis.out).not.toContain(secret);
  });

  it('items that cannot be read', async () => {
    const { environment, sandbox } = await service();
    Object.assign(sandbox.faults, { truncated: true, only: '/api/items/all' });
    expect(await diagnose(environment)).toMatchObject({
      code: 1,
      found: { ...WELL, items: 'wrong' },
    });
  });

  it('an app_secret of yesterday, an app nobody knows', async () => {
    const { environment } = await service();
    const old = await diagnose({ ...environment, MARKETPLACE_APP_SECRET: 'outdated-secret' });
    expect(old).toMatchObject({ code: 1, found: { ...WELL, app: 'wrong' } });
    expect(old.out).not.toContain('outdated-secret');
    const unknown = await diagnose({ ...environment, MARKETPLACE_APP_ID: '1' });
    expect(unknown).toMatchObject({
      code: 1,
      found: { ...WELL, 'login page': 'warning', app: 'wrong' },
    });
  });

  it('an app without a redirect URL is a warning, no failure', async () => {
    const { environment, sandbox } = await service();
    sandbox.redirectUrl = undefined;
    const diagnosis = await diagnose(environment);
    expect(diagnosis).toMatchObject({ code: 0, found: { ...WELL, 'login page': 'warning' } });
    expect(diagnosis.said['login page']).toContain('redirect URL');
  });

  it('plain http to another machine', async () => {
    const { environment } = await service();
    const elsewhere = { ...environment, MARKETPLACE_BASE_URL: 'http://market.example' };
    expect(await diagnose(elsewhere)).toMatchObject({
      code: 1,
      found: { 'key API': 'wrong', reachable: 'skipped', items: 'skipped' },
      said: { 'key API': expect.stringContaining('must be https') },
    });
  });

  it('a closed port', async () => {
    const { environment } = await service();
    const url = await refusing();
    const { code, found, said } = await diagnose({
      ...environment,
      MARKETPLACE_BASE_URL: url,
      MARKETPLACE_AUTH_URL: url,
    });
    expect(code).toBe(1);
    expect(found).toMatchObject({
      reachable: 'wrong',
      https: 'skipped',
      clock: 'skipped',
      api_key: 'skipped',
      'login page': 'wrong',
      app: 'skipped',
    });
    expect(said.reachable).toContain('the connection was refused');
  });

  it('a host nobody knows', async () => {
    const { environment } = await service();
    const elsewhere = { ...environment, MARKETPLACE_BASE_URL: 'https://no.such.host.invalid' };
    const { found, said } = await diagnose(elsewhere);
    expect(found.reachable).toBe('wrong');
    expect(said.reachable).toMatch(/the host name (is unknown|could not be looked up)/);
  });

  it('a server that accepts and never answers', async () => {
    const { environment } = await service();
    const url = await http(() => undefined);
    const hanging = { ...environment, MARKETPLACE_BASE_URL: url };
    const { code, found, said } = await diagnose(hanging, '--timeout', '200');
    expect(code).toBe(1);
    expect(said.reachable).toContain('no answer within 200 ms');
    expect(found).toMatchObject({ clock: 'skipped', api_key: 'skipped', login: 'ok' });
  });

  it('an HTML page where the service should be', async () => {
    const { environment } = await service();
    const url = await http((_req, res) => {
      res.setHeader('content-type', 'text/html');
      res.end('<!doctype html><h1>Welcome to nginx</h1>');
    });
    const page = { ...environment, MARKETPLACE_BASE_URL: url };
    const { code, found, said } = await diagnose(page);
    expect(code).toBe(1);
    expect(found).toMatchObject({ reachable: 'ok', api_key: 'wrong', items: 'skipped' });
    expect(said.api_key).toMatch(/HTML|JSON/);
  });

  it('a page that never ends is not read to its end', async () => {
    const { environment, sandbox } = await service();
    Object.assign(sandbox.faults, { endless: 'slow', only: '/api/items/all' });
    const { found } = await diagnose(environment, '--timeout', '500');
    expect(found).toMatchObject({ ...WELL, items: 'wrong' });
  });

  it('a login page that is none', async () => {
    const { environment } = await service();
    const url = await http((_req, res) => {
      res.setHeader('content-type', 'application/json');
      res.end('{"message":"no"}');
    });
    const { found, said } = await diagnose({ ...environment, MARKETPLACE_AUTH_URL: url });
    expect(found).toMatchObject({ 'login reachable': 'ok', 'login page': 'wrong', app: 'skipped' });
    expect(said['login page']).toContain('not a page, but application/json');
  });

  it.each([
    [3_600_000, 'this machine is 3600 s behind the service'],
    [-120_000, 'this machine is 120 s ahead of the service'],
  ])('a clock that is off by %i ms', async (skew, sentence) => {
    const { environment } = await service();
    const url = await http((_req, res) => {
      // Whole seconds, as in every Date header.
      const now = Math.round(Date.now() / 1000) * 1000;
      res.setHeader('date', new Date(now + skew).toUTCString());
      res.end('{}');
    });
    const { found, said } = await diagnose({ ...environment, MARKETPLACE_BASE_URL: url });
    expect(found.clock).toBe('wrong');
    expect(said.clock?.replace(/\d+/, (n) => String(Math.round(Number(n) / 10) * 10))).toContain(
      sentence,
    );
  });

  it('a service that does not tell its time', async () => {
    const { environment } = await service();
    const url = await http((_req, res) => {
      res.sendDate = false;
      res.end('{}');
    });
    const { found } = await diagnose({ ...environment, MARKETPLACE_BASE_URL: url });
    expect(found.clock).toBe('skipped');
  });
});

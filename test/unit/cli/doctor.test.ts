import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { run } from '../../../src/cli/program.js';
import { KeyApi } from '../../../src/clients/key-api.js';
import { LoginApi } from '../../../src/clients/login-api.js';
import { https, listen, portOf, refusing } from '../../support/listen.js';
import { cli, diagnose, service } from './support.js';

const WELL = {
  'key API': 'ok',
  reachable: 'ok',
  clock: 'ok',
  api_key: 'ok',
  items: 'ok',
  login: 'ok',
  'login page': 'ok',
  app: 'ok',
  redis: 'skipped',
};
const SECRET = `${'f'.repeat(63)}0`;

describe('marketgate doctor', () => {
  it('finds nothing wrong with a sandbox, in words too', async () => {
    const { environment } = await service();
    expect(await diagnose(environment)).toMatchObject({ code: 0, found: WELL });
    const words = await cli(['doctor'], environment);
    expect(words.code).toBe(0);
    expect(words.out).toMatch(/^ok +api_key +accepted; the account of Ingrid Halvorsen$/m);
    expect(words.out).toMatch(/^ok +items +readable; \d+$/m);
    expect(words.out).not.toContain('\x1b');
    const { out } = await cli(['doctor'], environment, { isTerminal: true });
    expect(out).toContain('\x1b[32mok     \x1b[39m  api_key');
  });

  it('calls a sandbox in production wrong, whatever works there', async () => {
    const { environment, sandbox } = await service();
    const production = { ...environment, NODE_ENV: 'production' };
    const { code, found, said } = await diagnose(production);
    expect([code, found]).toMatchObject([1, { 'key API': 'wrong', login: 'wrong' }]);
    expect(Object.values(found)).not.toContain('ok');
    for (const check of ['key API', 'login']) {
      expect(said[check]).toContain('a marketgate sandbox, and NODE_ENV is production');
    }
    // Also by name, and where the path ends in a slash.
    const named = `${environment.MARKETPLACE_BASE_URL.replace('127.0.0.1', 'localhost')}/`;
    expect((await diagnose({ ...production, MARKETPLACE_BASE_URL: named })).code).toBe(1);
    Object.assign(sandbox.faults, { errorRate: 1 });
    expect((await diagnose(production)).found).toMatchObject({ 'key API': 'wrong' });
    const url = await listen((_req, res) => res.end('{}'));
    const other = await diagnose({ ...production, MARKETPLACE_BASE_URL: url });
    expect(other.found).toMatchObject({ 'key API': 'ok', reachable: 'ok', api_key: 'unknown' });
  });

  it.each<[object, object]>([
    [{ errorRate: 1 }, { api_key: 'unknown', items: 'skipped', app: 'unknown' }],
    [{ rateLimit: 0 }, { api_key: 'unknown', items: 'skipped', app: 'unknown' }],
    [{ html: true }, { api_key: 'unknown', items: 'skipped', app: 'unknown' }],
    [{ hang: true }, { api_key: 'unknown', items: 'skipped', app: 'unknown' }],
    [{ items: { errorRate: 1 } }, { items: 'unknown' }],
    [{ items: { truncated: true } }, { items: 'unknown' }],
    [{ items: { endless: 'slow' } }, { items: 'unknown' }],
  ])('a service with %j says nothing about the settings: unknown, not wrong', async (...given) => {
    const [{ items = {}, ...faults }, expected] = given as [Record<string, object>, object];
    const { environment, sandbox } = await service();
    Object.assign(sandbox.faults, faults);
    Object.assign(sandbox.faults.at('/api/items/all'), items);
    const { code, out, found } = await diagnose(environment, '--timeout', '500');
    expect(found).toEqual({ ...WELL, ...expected });
    expect({ code, ok: JSON.parse(out).ok }).toEqual({ code: 1, ok: false });
  });

  it.each<[object, object, string, string]>([
    [
      { MARKETPLACE_API_KEY: SECRET },
      { api_key: 'wrong', items: 'skipped' },
      'api_key',
      'put it in MARKETPLACE_API_KEY',
    ],
    [
      { MARKETPLACE_APP_SECRET: SECRET },
      { app: 'wrong' },
      'app',
      'compare MARKETPLACE_APP_ID and MARKETPLACE_APP_SECRET with',
    ],
    [
      { MARKETPLACE_APP_ID: '1' },
      { app: 'wrong', 'login page': 'warning' },
      'login page',
      'it may not know this app',
    ],
    [
      { MARKETPLACE_BASE_URL: 'x' },
      { 'key API': 'wrong', reachable: 'skipped' },
      'key API',
      'MARKETPLACE_BASE_URL must be an absol',
    ],
    [{ MARKETPLACE_AUTH_URL: 'x' }, { login: 'wrong' }, 'login', 'MARKETPLACE_AUTH_URL must be an'],
    [
      { MARKETPLACE_BASE_URL: 'http://market.example' },
      { 'key API': 'wrong' },
      'key API',
      '(--allow-insecure permits it)',
    ],
  ])('%j: %j, %s says "%s"', async (wrong, expected, check, advice) => {
    const { environment } = await service();
    const { code, out, found, said } = await diagnose({ ...environment, ...wrong });
    expect([code, found]).toMatchObject([1, expected]);
    expect(said[check]).toContain(advice);
    expect(out).not.toMatch(/apiKey|appId|appSecret|baseUrl|authUrl|allowInsecure|ffff/);
  });

  it('an app without a redirect URL is a warning, no failure', async () => {
    const { environment, sandbox } = await service();
    sandbox.redirectUrl = undefined;
    const diagnosis = await diagnose(environment);
    expect(diagnosis).toMatchObject({ code: 0, found: { ...WELL, 'login page': 'warning' } });
    expect(diagnosis.said['login page']).toContain('redirect URL');
  });

  const UNREACHED = { reachable: 'wrong', clock: 'skipped', api_key: 'skipped', login: 'ok' };
  const NO_SERVICE = { reachable: 'ok', api_key: 'unknown', items: 'skipped' };
  const NO_HOST = /the host name is unknown, or could not be looked up; check MARKETPLACE_BASE_URL/;
  const html: RequestListener = (_req, res) =>
    res.setHeader('content-type', 'text/html').end('<h1>nginx</h1>');
  const timeless: RequestListener = (_req, res) => {
    res.sendDate = false;
    res.end('{}');
  };
  const off =
    (skew: number): RequestListener =>
    (_req, res) =>
      res.setHeader('date', new Date(Date.now() + skew).toUTCString()).end('{}');
  const plain = async () => (await listen(html)).replace('http:', 'https:');

  it.each<[string, () => Promise<string> | string, object, string, RegExp]>([
    ['a closed port', refusing, UNREACHED, 'reachable', /the connection was refused/],
    ['a host nobody knows', () => 'https://no.such.invalid', UNREACHED, 'reachable', NO_HOST],
    ['silence', () => listen(() => {}), UNREACHED, 'reachable', /no answer in time/],
    ['https to plain http', plain, UNREACHED, 'reachable', /the port does not speak TLS/],
    ['an HTML page in its place', () => listen(html), NO_SERVICE, 'api_key', /HTML|JSON/],
    ['no time', () => listen(timeless), { clock: 'skipped' }, 'clock', /no Date header/],
    ['a fast clock', () => listen(off(3_600_500)), { clock: 'wrong' }, 'clock', /3\d{3} s behind/],
    ['a slow clock', () => listen(off(-120_000)), { clock: 'wrong' }, 'clock', /12\d s ahead of/],
  ])('%s', async (_name, serve, expected, check, sentence) => {
    const { environment } = await service();
    const wrong = { ...environment, MARKETPLACE_BASE_URL: await serve() };
    const { code, found, said } = await diagnose(wrong, '--timeout', '500');
    expect(code).toBe(1);
    expect(found).toMatchObject(expected);
    expect(said[check]).toMatch(sentence);
  });

  it('a certificate that nobody vouches for is wrong, and nothing is sent there', async () => {
    const { environment } = await service();
    const pem = readFileSync(new URL('./self-signed.pem', import.meta.url), 'utf8');
    let asked = 0;
    const url = await https({ key: pem, cert: pem }, () => asked++);
    const { found, said } = await diagnose({ ...environment, MARKETPLACE_BASE_URL: url });
    expect(found).toMatchObject({ reachable: 'wrong', api_key: 'skipped' });
    expect(said.reachable).toContain('its certificate is self-signed; NODE_EXTRA_CA_CERTS');
    expect(asked).toBe(0);
  });

  it('a login page that is none is wrong, one that fails or cannot be reached is not', async () => {
    const { environment } = await service();
    const at = (url: string) => diagnose({ ...environment, MARKETPLACE_AUTH_URL: url });
    const json = await at(await listen((_req, res) => res.end('{"message":"no"}')));
    expect(json.found).toMatchObject({ 'login reachable': 'ok', 'login page': 'wrong' });
    expect(json.said['login page']).toContain('not with a page');
    const failing = await at(await listen((_req, res) => res.writeHead(503).end()));
    expect(failing.found).toMatchObject({ 'login page': 'unknown', app: 'skipped' });
    const gone = await at(await refusing());
    expect(gone.found).toMatchObject({ 'login reachable': 'wrong', app: 'skipped' });
    expect(gone.said['login reachable']).toContain('check MARKETPLACE_AUTH_URL');
  });

  it('closes its clients also when it cannot print', async () => {
    const closed = [KeyApi, LoginApi].map((each) => vi.spyOn(each.prototype, 'close'));
    const { environment } = await service();
    const out = (text: string) => {
      if (text.includes('login page')) throw new Error('no output');
    };
    const io = { out, err: () => {}, read: async () => '' };
    const untilStopped = async () => {};
    const options = { io, environment, cwd: '/nowhere', untilStopped };
    await expect(run(['doctor'], options)).rejects.toThrow('no output');
    expect(closed.map((each) => each.mock.calls.length)).toEqual([1, 1]);
  });
});

describe('doctor asks Redis', () => {
  const serving = (serve: (socket: Socket) => void): Promise<number> => portOf(createServer(serve));
  const always = (answer: string) => (socket: Socket) =>
    void socket.on('data', () => socket.write(answer));
  /** Answers each command as Redis does. */
  const lookalike = (socket: Socket) =>
    void socket.on('data', (chunk) => {
      for (const command of String(chunk).split(/(?=\*\d+\r\n)/)) {
        if (command.includes('HELLO')) socket.write('%1\r\n+server\r\n+redis\r\n');
        else socket.write(command.includes('PING') ? '+PONG\r\n' : '+OK\r\n');
      }
    });

  it('that answers', async () => {
    const port = await serving(lookalike);
    const { found, said } = await diagnose({ REDIS_URL: `redis://127.0.0.1:${port}` });
    expect([found.redis, said.redis]).toEqual(['ok', `127.0.0.1:${port} answers`]);
  });

  it.each([
    ['a closed port', 'the connection was refused', undefined],
    ['one that hangs', 'check REDIS_URL', () => undefined],
    ['one that hangs up', 'check REDIS_URL', (socket: Socket) => void socket.end()],
    ['one that requires a password', 'NOAUTH', always('-NOAUTH Authentication required.\r\n')],
    ['one that refuses it', 'WRONGPASS', always('-WRONGPASS bad hunter2\r\n')],
  ])('%s is wrong, and no password is repeated', async (_name, sentence, serve) => {
    const port = serve ? await serving(serve) : new URL(await refusing()).port;
    const url = `redis://ada:hunter2@127.0.0.1:${port}`;
    const { found, said, out } = await diagnose({ REDIS_URL: url }, '--timeout', '200');
    expect([found.redis, said.redis]).toEqual(['wrong', expect.stringContaining(sentence)]);
    expect(out).not.toMatch(/hunter|ada/);
  });

  it.each(['localhost', 'http://localhost', 'redis:', 'redis://:p%ss@127.0.0.1:1'])(
    'REDIS_URL %s is wrong, and not repeated',
    async (url) => {
      const { found, said, out } = await diagnose({ REDIS_URL: url });
      expect(found.redis).toBe('wrong');
      expect(said.redis).toContain('REDIS_URL');
      expect(out).not.toContain('p%ss');
    },
  );
});

import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { https, listen, portOf, refusing } from '../../support/listen.js';
import { cli, diagnose, service } from './support.js';

const WELL = {
  'key API': 'ok',
  api_key: 'ok',
  items: 'ok',
  login: 'ok',
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
    const { out } = await cli(['doctor'], environment, { isTerminal: true });
    expect(out).toContain('\x1b[32mok     \x1b[39m  api_key');
    const narrow = await cli(['doctor'], environment, { columns: 60 });
    expect(narrow.out.split('\n').filter(({ length }) => length > 60)).toEqual([]);
  });

  it('calls a sandbox in production wrong, whatever works there', async () => {
    const { environment, sandbox } = await service();
    const production = { ...environment, NODE_ENV: 'production' };
    sandbox.faults.errorRate = 1;
    const { code, found, said } = await diagnose(production);
    expect([code, found]).toMatchObject([1, { 'key API': 'wrong', login: 'wrong' }]);
    expect(said['key API']).toContain('a marketgate sandbox, and NODE_ENV is production');
    const url = await listen((_req, res) => res.end('{}'));
    const other = await diagnose({ ...production, MARKETPLACE_BASE_URL: url });
    expect(other.found).toMatchObject({ 'key API': 'ok', api_key: 'unknown' });
  });

  it('says which redirect URL is to be registered, because no service shows it', async () => {
    const { environment } = await service();
    const { said } = await diagnose(environment);
    expect(said.app).toMatch(/redirect URL to register .* as in https:\S+\/callback$/);
  });

  it.each([
    [
      '',
      'key API',
      'BASE_URL',
      'has no /api/account/details',
      'whether the marketplace has its API',
    ],
    ['/api', 'key API', 'BASE_URL', 'has no /api/account/details', 'leave out the /api at the end'],
    ['/api/', 'login', 'AUTH_URL', 'has no /api/get_user_info', 'leave out the /api at the end'],
  ])('a 404 at the address …%s of the %s is never ok', async (path, check, name, ...sentences) => {
    const { environment, sandbox, url } = await service();
    sandbox.dialect.apiDisabled = path === '';
    const variable = `MARKETPLACE_${name}`;
    const { code, found, said } = await diagnose({ ...environment, [variable]: url + path });
    expect([code, found[check]]).toEqual([1, 'wrong']);
    for (const sentence of [...sentences, variable]) expect(said[check]).toContain(sentence);
  });

  it.each<[object, object]>([
    [{ errorRate: 1 }, { api_key: 'unknown', items: 'skipped', app: 'unknown' }],
    [{ items: { hang: true } }, { items: 'unknown' }],
  ])('a service with %j says nothing about the settings: unknown, not wrong', async (...given) => {
    const [{ items = {}, ...faults }, expected] = given as [Record<string, object>, object];
    const { environment, sandbox } = await service();
    Object.assign(sandbox.faults, faults);
    Object.assign(sandbox.faults.at('/api/items/all'), items);
    const { code, out, found } = await diagnose(environment, '--timeout', '500ms');
    expect(found).toEqual({ ...WELL, ...expected });
    expect({ code, ok: JSON.parse(out).ok }).toEqual({ code: 1, ok: false });
  });

  // biome-ignore format: a table is read by its columns
  it.each<[string, string, string, string]>([
    ['MARKETPLACE_API_KEY', SECRET, 'api_key', 'put it in MARKETPLACE_API_KEY'],
    ['MARKETPLACE_APP_SECRET', SECRET, 'app', 'compare MARKETPLACE_APP_ID and MARKETPLACE_APP_SECRET with'],
    ['MARKETPLACE_APP_ID', '1', 'app', 'compare MARKETPLACE_APP_ID'],
    ['MARKETPLACE_BASE_URL', 'x', 'key API', 'MARKETPLACE_BASE_URL must be an absol'],
    ['MARKETPLACE_AUTH_URL', 'x', 'login', 'MARKETPLACE_AUTH_URL must be an'],
    ['MARKETPLACE_BASE_URL', 'http://market.example', 'key API', '(--allow-insecure permits it)'],
  ])('%s=%s: %s is wrong, and says "%s"', async (variable, value, check, advice) => {
    const { environment } = await service();
    const { code, out, found, said } = await diagnose({ ...environment, [variable]: value });
    expect([code, found[check]]).toEqual([1, 'wrong']);
    expect(said[check]).toContain(advice);
    expect(out).not.toMatch(/apiKey|appId|appSecret|baseUrl|authUrl|allowInsecure|ffff/);
  });

  const off =
    (skew: number): RequestListener =>
    (_req, res) =>
      res.setHeader('date', new Date(Date.now() + skew).toUTCString()).end('{}');

  it.each<[string, () => Promise<string> | string, RegExp]>([
    ['a closed port', refusing, /the connection was refused; check MARKETPLACE_BASE_URL/],
    ['silence', () => listen(() => {}), /no answer in time/],
    ['a fast clock', () => listen(off(3_600_500)), /3\d{3} s behind/],
    ['a slow clock', () => listen(off(-120_000)), /12\d s ahead of/],
  ])(
    '%s at the address is wrong, and the login is checked all the same',
    async (_name, serve, sentence) => {
      const { environment } = await service();
      const wrong = { ...environment, MARKETPLACE_BASE_URL: await serve() };
      const { code, found, said } = await diagnose(wrong, '--timeout', '500ms');
      expect(code).toBe(1);
      expect(found).toMatchObject({ 'key API': 'wrong', api_key: 'skipped', login: 'ok' });
      expect(said['key API']).toMatch(sentence);
    },
  );

  it('a certificate that nobody vouches for is wrong, and nothing is sent there', async () => {
    const { environment } = await service();
    const pem = readFileSync(new URL('./self-signed.pem', import.meta.url), 'utf8');
    let asked = 0;
    const url = await https({ key: pem, cert: pem }, () => asked++);
    const { found, said } = await diagnose({ ...environment, MARKETPLACE_BASE_URL: url });
    expect(found).toMatchObject({ 'key API': 'wrong', api_key: 'skipped' });
    expect(said['key API']).toContain('the certificate is self-signed; NODE_EXTRA_CA_CERTS');
    expect(asked).toBe(0);
  });
});

/** What Redis replies to some commands. */
const REPLIES: Record<string, string> = {
  EVAL: '*0\r\n',
  PUBLISH: ':0\r\n',
  SUBSCRIBE: '*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n',
};

describe('doctor asks Redis', () => {
  /** Something that answers each command: the lines of RESP, or none. */
  const serving = (answerTo: (command: string) => string | Promise<string>): Promise<number> =>
    portOf(
      createServer((socket) => {
        let last = Promise.resolve();
        socket.on('data', (chunk) => {
          for (const command of String(chunk).split(/(?=\*\d+\r\n)/)) {
            last = last.then(async () => void socket.write(await answerTo(command)));
          }
        });
      }),
    );

  it('and skips it where the package redis is not installed', async () => {
    vi.doMock('redis', () => {
      throw new Error('not installed');
    });
    const { found } = await diagnose({ REDIS_URL: 'redis://127.0.0.1:1' });
    vi.doUnmock('redis');
    expect(found.redis).toBe('skipped');
  });

  it.each([
    ['a closed port', 'the connection was refused', undefined],
    ['one that hangs', 'no answer in time; check REDIS_URL', () => ''],
    ['one that refuses the password', 'WRONGPASS', () => '-WRONGPASS bad hunter2\r\n'],
  ])('%s is wrong, and no password is repeated', async (_name, sentence, serve) => {
    const port = serve ? await serving(serve) : new URL(await refusing()).port;
    const url = `redis://ada:hunter2@127.0.0.1:${port}`;
    const { found, said, out } = await diagnose({ REDIS_URL: url }, '--timeout', '200ms');
    expect([found.redis, said.redis]).toEqual(['wrong', expect.stringContaining(sentence)]);
    expect(out).not.toMatch(/hunter|ada/);
  });

  it('one that answers too late for the cache is wrong', async () => {
    const port = await serving(async (command) => {
      if (/PING/.test(command)) await delay(120);
      const [, name = ''] = /(EVAL|SUBSCRIBE|PUBLISH)\r\n/.exec(command) ?? [];
      return REPLIES[name] ?? '+OK\r\n';
    });
    const { found, said } = await diagnose({ REDIS_URL: `redis://127.0.0.1:${port}` });
    expect(found.redis).toBe('wrong');
    expect(said.redis).toMatch(/: from here it takes \d{3,} ms to answer a PING, .* 100 ms;/);
  });

  it.each([
    ['READONLY You can not write', 'it is a replica: set REDIS_URL to its primary'],
    ['NOPERM No permissions', 'give its user what the guide on Redis lists'],
    ['OOM command not allowed', 'look at its settings'],
  ])(
    'one that refuses a command with "%s" is wrong, with advice that fits',
    async (why, advice) => {
      const refused = ['SET', why].map((text) => `$${text.length}\r\n${text}\r\n`).join('');
      const port = await serving((command) => {
        const [, name = ''] = /(EVAL|SUBSCRIBE|PUBLISH)\r\n/.exec(command) ?? [];
        return name === 'EVAL' ? `*2\r\n${refused}` : (REPLIES[name] ?? '+OK\r\n');
      });
      const { found, said } = await diagnose({ REDIS_URL: `redis://127.0.0.1:${port}` });
      expect([found.redis, said.redis]).toEqual(['wrong', expect.stringContaining(advice)]);
    },
  );

  it.each(['http://localhost', 'redis:', 'redis://:p%ss@127.0.0.1:1', 'redis://:p#ss@127.0.0.1:1'])(
    'REDIS_URL %s is wrong, and not repeated',
    async (url) => {
      const { found, said, out } = await diagnose({ REDIS_URL: url });
      expect(found.redis).toBe('wrong');
      expect(said.redis).toMatch(/^REDIS_URL must be a redis: or rediss: URL.*percent-encoded/);
      expect(out).not.toMatch(/p[%#]ss/);
    },
  );
});

import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { https, listen, portOf, refusing } from '../../support/listen.js';
import { cli, diagnose, service } from './support.js';

const SECRET = `${'f'.repeat(63)}0`;
const REDIRECT = /redirect URL to register .* as in https:\S+\/callback$/;

describe('marketgate doctor', () => {
  it('finds nothing wrong with a sandbox, in words too, and says which redirect URL to register', async () => {
    const { environment } = await service();
    const { code, found, said } = await diagnose(environment);
    const ok = { 'key API': 'ok', api_key: 'ok', items: 'ok', login: 'ok', app: 'ok' };
    expect([code, found]).toEqual([0, { ...ok, redis: 'skipped' }]);
    expect(said.app).toMatch(REDIRECT);
    const words = await cli(['doctor'], environment);
    expect(words.code).toBe(0);
    expect(words.out).toMatch(/^ok +api_key +accepted; the account of Ingrid Halvorsen$/m);
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

  it('calls what it could not ask unknown, not wrong', async () => {
    const { environment, sandbox } = await service();
    sandbox.faults.errorRate = 1;
    const failing = await diagnose(environment);
    expect(JSON.parse(failing.out).ok).toBe(false);
    expect([failing.code, failing.found]).toMatchObject([
      ...[1, { 'key API': 'ok', api_key: 'unknown', items: 'skipped', app: 'unknown' }],
    ]);
    sandbox.faults.clear();
    sandbox.faults.at('/api/items/all').hang = true;
    const { found } = await diagnose(environment, '--timeout', '1s');
    expect(found).toMatchObject({ api_key: 'ok', items: 'unknown', app: 'ok' });
  });

  // biome-ignore format: a table is read by its columns
  it.each<[string, string, string, string]>([
    ['API_KEY', SECRET, 'api_key', 'put it in MARKETPLACE_API_KEY'],
    ['APP_SECRET', SECRET, 'app', 'compare MARKETPLACE_APP_ID and MARKETPLACE_APP_SECRET with'],
    ['APP_ID', '', 'login', 'set MARKETPLACE_APP_ID, or name a file that does with --env'],
    ['BASE_URL', 'x', 'key API', 'MARKETPLACE_BASE_URL must be an absol'],
    ['BASE_URL', 'http://market.example', 'key API', '(--allow-insecure permits it)'],
    ['BASE_URL', 'URL/api', 'key API', 'leave out the /api at the end of MARKETPLACE_BASE_URL'],
    ['BASE_URL', 'URL/shop', 'key API', 'check MARKETPLACE_BASE_URL, and whether the marketplace has its API'],
  ])('MARKETPLACE_%s=%s: %s is wrong, and says "%s"', async (name, value, check, advice) => {
    const { environment, url } = await service();
    const wrong = { [`MARKETPLACE_${name}`]: value.replace('URL', url) };
    const { code, out, found, said } = await diagnose({ ...environment, ...wrong });
    expect([code, found[check]]).toEqual([1, 'wrong']);
    expect(said[check]).toContain(advice);
    expect(out).not.toMatch(/apiKey|appId|appSecret|baseUrl|authUrl|allowInsecure|ffff/);
  });

  const off =
    (skew: number): RequestListener =>
    (_req, res) =>
      res.setHeader('date', new Date(Date.now() + skew).toUTCString()).end('{}');

  it.each<[string, () => Promise<string> | string, RegExp, ...string[]]>([
    ['a closed port', refusing, /the connection was refused; check MARKETPLACE_BASE_URL/],
    ['silence', () => listen(() => {}), /no answer in time/, '--timeout', '1s'],
    ['a fast clock', () => listen(off(3_600_500)), /3\d{3} s behind/],
    ['a slow clock', () => listen(off(-120_000)), /12\d s ahead of/],
  ])('%s at the address is wrong, and the login is checked all the same', async (...row) => {
    const [, serve, sentence, ...flags] = row;
    const { environment } = await service();
    const wrong = { ...environment, MARKETPLACE_BASE_URL: await serve() };
    const { code, found, said } = await diagnose(wrong, ...flags);
    expect(code).toBe(1);
    expect(found).toMatchObject({ 'key API': 'wrong', api_key: 'skipped', login: 'ok' });
    expect(said['key API']).toMatch(sentence);
  });

  it('a certificate that nobody vouches for is wrong, and nothing is sent there', async () => {
    const pem = readFileSync(new URL('./self-signed.pem', import.meta.url), 'utf8');
    let asked = 0;
    const url = await https({ key: pem, cert: pem }, () => asked++);
    const environment = { MARKETPLACE_BASE_URL: url, MARKETPLACE_API_KEY: 'k' };
    const { found, said } = await diagnose(environment);
    expect(found).toMatchObject({ 'key API': 'wrong', api_key: 'skipped' });
    expect(said['key API']).toContain('the certificate is self-signed; NODE_EXTRA_CA_CERTS');
    expect(asked).toBe(0);
  });
});

// What a user of Redis may not do is in test/system/redis/permissions.
describe('doctor asks Redis', () => {
  /** What Redis replies to some commands; all others are OK. */
  const REPLIES = {
    EVAL: '*0\r\n',
    PUBLISH: ':0\r\n',
    SUBSCRIBE: '*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n',
  };

  /** A Redis that replies so, and `other` to the other commands, after `ms`. Returns its address. */
  async function serving(replies: Record<string, string>, other = '+OK\r\n', ms = 0) {
    const server = createServer((socket) => {
      socket.on('data', async (chunk) => {
        await delay(ms);
        for (const command of String(chunk).split(/(?=\*\d+\r\n)/)) {
          const [, name = ''] = /(EVAL|PUBLISH|SUBSCRIBE)\r\n/.exec(command) ?? [];
          socket.write(replies[name] ?? other);
        }
      });
    });
    return `redis://ada:hunter2@127.0.0.1:${await portOf(server)}`;
  }
  const refusal = (why: string) =>
    `*2\r\n${['SET', why].map((text) => `$${text.length}\r\n${text}\r\n`).join('')}`;

  it('and skips it where the package redis is not installed', async () => {
    vi.doMock('redis', () => {
      throw new Error('not installed');
    });
    const { found } = await diagnose({ REDIS_URL: 'redis://127.0.0.1:1' });
    vi.doUnmock('redis');
    expect(found.redis).toBe('skipped');
  });

  const NO_URL =
    'REDIS_URL must be a redis: or rediss: URL, in which a password is percent-encoded';

  // biome-ignore format: a table is read by its columns
  it.each<[string, () => Promise<string> | string, string, ...string[]]>([
    ['a closed port', async () => (await refusing()).replace('http://', 'redis://ada:hunter2@'), 'the connection was refused'],
    ['one that hangs', () => serving({}, ''), 'no answer in time; check REDIS_URL', '--timeout', '200ms'],
    ['one that refuses the password', () => serving({}, '-WRONGPASS bad hunter2\r\n'), 'WRONGPASS'],
    ['one that answers too late for the cache', () => serving(REPLIES, undefined, 120), 'ms to answer a PING'],
    ['a replica', () => serving({ ...REPLIES, EVAL: refusal('READONLY You can not write') }), 'it is a replica: set REDIS_URL to its primary'],
    ['one that is full', () => serving({ ...REPLIES, EVAL: refusal('OOM command not allowed') }), 'look at its settings'],
    ['no address of Redis', () => 'http://localhost', NO_URL],
    ['a password with %', () => 'redis://:hunter%ss@127.0.0.1:1', NO_URL],
    ['a password with #', () => 'redis://:hunter#ss@127.0.0.1:1', NO_URL],
  ])('%s is wrong, with advice that fits, and no password is repeated', async (_name, serve, sentence, ...flags) => {
    const { found, said, out } = await diagnose({ REDIS_URL: await serve() }, ...flags);
    expect([found.redis, said.redis]).toEqual(['wrong', expect.stringContaining(sentence)]);
    expect(out).not.toMatch(/hunter|ada/);
  });
});

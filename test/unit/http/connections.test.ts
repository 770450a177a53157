import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { forwardProxy } from '../../support/forward-proxy.js';
import { https, portOf, refusing } from '../../support/listen.js';
import { CODE } from '../../support/wire.js';
import { answered, keyApiOf, loginApiOf, startUpstream } from './support.js';

describe("the package's own connections", () => {
  it('are used again while they are fresh', async () => {
    const sockets = new Set<Socket | null>();
    const upstream = await startUpstream((request, res, n) => {
      sockets.add(res.socket);
      answered(request, res, n);
    });
    const keyApi = keyApiOf(upstream.url);
    for (let n = 0; n < 9; n++) await keyApi.getAccount();
    // A further one where the first is not free yet at once, or a busy machine has paused.
    expect(sockets.size).toBeLessThan(9);
  });

  it('end before 4 s idle and with close(), take long heads, and try each address for 2.5 s', async () => {
    const undici = await vi.importActual<typeof import('undici')>('undici');
    const seen: unknown[] = [];
    const pools: { destroyed: boolean }[] = [];
    class Pool extends undici.Pool {
      constructor(...given: ConstructorParameters<typeof undici.Pool>) {
        super(...given);
        seen.push(given[1]);
        pools.push(this);
      }
    }
    const buildConnector = (options: object) => {
      seen.push(options);
      return undici.buildConnector(options);
    };
    vi.doMock('undici', () => ({ ...undici, Pool, buildConnector }));
    onTestFinished(() => void vi.doUnmock('undici'));
    const { url } = await startUpstream(answered);
    const keyApi = keyApiOf(url);
    await keyApi.getAccount();
    expect(seen).toMatchObject([
      { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 2500 },
      { keepAliveTimeout: 3000, keepAliveMaxTimeout: 3000, maxHeaderSize: 65_536 },
    ]);
    const loginApi = loginApiOf(url);
    await loginApi.exchange('auth-key');
    await Promise.all([keyApi.close(), loginApi.close()]);
    expect(pools.map(({ destroyed }) => destroyed)).toEqual([true, true, true]);
  });

  it('are opened for each exchange, also for several at once and after a failure, and are closed after it', async () => {
    const sockets: (Socket | null)[] = [];
    const upstream = await startUpstream((request, res, n) => {
      sockets.push(res.socket);
      if (request.body.includes('cut')) res.socket?.destroy();
      else if (!request.body.includes('hangs')) answered(request, res, n);
    });
    const loginApi = loginApiOf(upstream.url);
    await loginApi.exchange('one');
    await Promise.all(['two', 'three'].map((key) => loginApi.exchange(key)));
    await expectError(loginApi.exchange('cut'), 'service_unavailable');
    await Promise.all(['four', 'five'].map((key) => loginApi.exchange(key)));
    const hangs = expectError(loginApi.exchange('hangs'), 'service_unavailable', 'was closed');
    await vi.waitFor(() => expect(sockets).toHaveLength(7), { timeout: 40_000 });
    await loginApi.close();
    await hangs;
    expect(new Set(sockets).size).toBe(7);
    const areClosed = () => expect(sockets.filter((socket) => !socket?.destroyed)).toEqual([]);
    await vi.waitFor(areClosed, { timeout: 40_000 });
  });
});

describe('a request that hangs', () => {
  it('leaves half of the time for a retry', async () => {
    const upstream = await startUpstream((request, res, n) => n >= 2 && answered(request, res, n));
    const keyApi = keyApiOf(upstream.url, { retries: 2, timeout: 1000 });
    expect((await keyApi.validatePurchase(CODE))?.purchase_code).toBe(CODE);
    expect(upstream.requests).toHaveLength(3);
  });

  it('has all of the time where none can follow', async () => {
    const upstream = await startUpstream(() => {});
    const call = keyApiOf(upstream.url, { timeout: 200 }).validatePurchase(CODE);
    await expectError(call, 'service_unavailable', 'no answer within 200 ms');
    const asked = upstream.requests.filter(({ path }) => path.endsWith('validation'));
    expect(asked).toHaveLength(1);
  });
});

describe('a proxy of the environment', () => {
  const far = 'http://market.example';
  const through = (proxy: string, noProxy = '') => {
    // Those of the machine that runs the tests.
    for (const name of ['http_proxy', 'HTTPS_PROXY', 'https_proxy', 'NO_PROXY']) {
      vi.stubEnv(name, undefined);
    }
    vi.stubEnv('HTTP_PROXY', proxy);
    vi.stubEnv('no_proxy', noProxy);
  };
  const ask = (url = far) => keyApiOf(url, { allowInsecure: true }).getAccount();

  it('is used for each service by its name, never for loopback, nor for what NO_PROXY names', async () => {
    const upstream = await startUpstream(answered);
    const proxy = await forwardProxy(upstream.url);
    onTestFinished(proxy.close);
    through(proxy.url);
    for (const url of [far, 'http://other.example', upstream.url]) {
      expect((await ask(url)).username).toBe('adanorth');
    }
    expect(proxy.tunnels).toEqual(['market.example:80', 'other.example:80']);
    expect(upstream.requests.map(({ headers }) => headers.host)).toEqual([
      ...['market.example', 'other.example'],
      new URL(upstream.url).host,
    ]);
    // A new one for each exchange of an auth_key.
    const loginApi = loginApiOf(far, { allowInsecure: true });
    await loginApi.exchange('one');
    await Promise.all(['two', 'three'].map((key) => loginApi.exchange(key)));
    expect(proxy.tunnels).toHaveLength(5);
    through(proxy.url, 'market.example');
    await rejection(ask());
    expect(proxy.tunnels).toHaveLength(5);
  });

  let connects = 0;
  const refusingProxy = async (status?: number) => {
    const head = status ? `HTTP/1.1 ${status} x\r\ncontent-length: 0\r\n\r\n` : '';
    const server = createServer().on('connect', (_req, socket) =>
      socket.end(head, () => connects++),
    );
    return `http://127.0.0.1:${await portOf(server)}`;
  };
  const unusable = (rest: string) => () => `http://${rest}`;
  it.each<[string, () => string | Promise<string>, RegExp, string]>([
    ['that wants a password', () => refusingProxy(407), /user name and a password/, 'down'],
    ['that refuses the host', () => refusingProxy(403), /refuses to connect/, 'down'],
    ['that is not there', refusing, /HTTPS_PROXY or HTTP_PROXY cannot be reached/, 'down'],
    // As where a forwarder's target is down. undici itself would connect again at once, for ever.
    ['that cuts connections', () => refusingProxy(), /cannot be reached: .* was cut/, 'down'],
    [
      'whose password has a bare %',
      unusable('me:100%secret@a.example'),
      /password % is %25/,
      'own',
    ],
    ['with a path', unusable('a.example:3128/proxy.pac'), /without a path/, 'own'],
    ['of SOCKS', () => 'socks5://me:secret@127.0.0.1:1080', /a SOCKS proxy cannot be used/, 'own'],
  ])('%s is named as such', async (_how, url, says, kind) => {
    connects = 0;
    through(await url());
    const error = await rejection(ask());
    expect(error).toMatchObject({ code: 'service_unavailable', cause: { kind } });
    expect(error.message).toMatch(says);
    expect(error.message).not.toContain('secret');
    expect(connects).toBeLessThan(9);
  });
});

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
const leaf = read('./leaf.pem');

it.each<[string, object, RegExp]>([
  ['without its chain', {}, /chain is incomplete.*NODE_EXTRA_CA_CERTS/],
  [
    "of a company's own authority",
    { cert: leaf + read('./authority.pem') },
    /an authority that is unknown here, such as that of a company.*NODE_EXTRA_CA_CERTS/,
  ],
  [
    'behind a TLS that is too old',
    { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' },
    /versions of TLS that are too old/,
  ],
])('a certificate %s is named as such', async (_how, server, says) => {
  const url = await https({ key: leaf, cert: leaf, ...server });
  await expectError(keyApiOf(url).getAccount(), 'service_unavailable', says);
});

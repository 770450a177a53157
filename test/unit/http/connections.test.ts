import dns from 'node:dns';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { forwardProxy } from '../../support/forward-proxy.js';
import { https, portOf, refusing } from '../../support/listen.js';
import { json, startUpstream } from '../../support/upstream.js';
import { CODE } from '../../support/wire.js';
import { answered, keyApiOf, loginApiOf } from './support.js';

/** Those of the machine that runs the tests. */
function withoutProxies(): void {
  for (const each of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'NO_PROXY']) {
    vi.stubEnv(each, undefined);
  }
}

/** The ports that requests came from: one each connection. */
const portsOf = ({ requests }: { requests: readonly { port: number | undefined }[] }) =>
  requests.map(({ port }) => port);

describe("the package's own connections", () => {
  it('are used again while they are fresh', async () => {
    const upstream = await startUpstream(answered);
    const keyApi = keyApiOf(upstream.url);
    for (let n = 0; n < 9; n++) await keyApi.getAccount();
    // A further one where the first is not free yet at once, or a busy machine has paused.
    expect(new Set(portsOf(upstream)).size).toBeLessThan(9);
  });

  it('are closed when they are idle, whatever the service advertises', async () => {
    const closed = vi.fn();
    const upstream = await startUpstream((request, res) => {
      // The server itself closes none.
      Object.assign(Object(res.socket).server, { keepAliveTimeout: 0 });
      res.socket?.once('close', closed);
      res.setHeader('keep-alive', 'timeout=600');
      answered(request, res, 0);
    });
    await keyApiOf(upstream.url).getAccount();
    await vi.waitFor(() => expect(closed).toHaveBeenCalled(), { timeout: 40_000 });
  });

  it('are opened for each exchange, also for several at once and after a failure, and are closed after it', async () => {
    const sockets: (net.Socket | null)[] = [];
    const upstream = await startUpstream((request, res, n) => {
      sockets.push(res.socket);
      if (request.body.includes('cut')) res.socket?.destroy();
      else if (!request.body.includes('hangs')) answered(request, res, n);
    });
    const loginApi = loginApiOf(upstream.url);
    await loginApi.exchange('one');
    await Promise.all(['two', 'three', 'four'].map((key) => loginApi.exchange(key)));
    await expectError(loginApi.exchange('cut'), 'service_unavailable');
    await Promise.all(['five', 'six'].map((key) => loginApi.exchange(key)));
    const hangs = expectError(loginApi.exchange('hangs'), 'service_unavailable', 'was closed');
    await vi.waitFor(() => expect(sockets).toHaveLength(8), { timeout: 40_000 });
    await loginApi.close();
    await hangs;
    expect(new Set(sockets).size).toBe(8);
    await vi.waitFor(() => expect(sockets.filter((socket) => !socket?.destroyed)).toEqual([]), {
      timeout: 40_000,
    });
  });

  it('give each address of a host 2.5 s to connect', async () => {
    const upstream = await startUpstream(answered);
    const connect = vi.spyOn(net, 'connect');
    await keyApiOf(upstream.url).getAccount();
    const expected = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 2500 };
    expect(connect.mock.calls[0]?.[0]).toMatchObject(expected);
  });

  it('take a head of 60 kB', async () => {
    const upstream = await startUpstream((request, res) => {
      res.setHeader('content-security-policy', 'x'.repeat(60_000));
      answered(request, res, 0);
    });
    expect((await keyApiOf(upstream.url).getAccount()).username).toBe('adanorth');
  });
});

describe('a request that hangs', () => {
  const hanging = (count: number) =>
    startUpstream((request, res, n) => (n < count ? undefined : answered(request, res, n)));

  it('leaves half of the time for a retry', async () => {
    const upstream = await hanging(2);
    const keyApi = keyApiOf(upstream.url, { retries: 2, timeout: 1000 });
    expect((await keyApi.validatePurchase(CODE))?.purchase_code).toBe(CODE);
    expect(upstream.requests).toHaveLength(3);
  });

  it('has all of the time where none can follow', async () => {
    const upstream = await hanging(9);
    const call = keyApiOf(upstream.url, { timeout: 200 }).validatePurchase(CODE);
    await expectError(call, 'service_unavailable', 'no answer within 200 ms');
    const asked = upstream.requests.filter(({ method }) => method === 'POST');
    expect(asked).toHaveLength(1);
  });
});

describe('a proxy of the environment', () => {
  const far = 'http://market.example';
  const through = (name: string, url: string, noProxy = '') => {
    withoutProxies();
    vi.stubEnv(name, url);
    vi.stubEnv('no_proxy', noProxy);
  };
  const ask = (url = far) => keyApiOf(url, { allowInsecure: true }).getAccount();

  it.each(['http_proxy', 'HTTP_PROXY'])('is used: %s', async (name) => {
    const upstream = await startUpstream(answered);
    const proxy = await forwardProxy(upstream.url);
    onTestFinished(proxy.close);
    through(name, proxy.url);
    expect((await ask()).username).toBe('adanorth');
    expect(proxy.tunnels).toEqual(['market.example:80']);
    // Never for loopback.
    await ask(upstream.url);
    expect(proxy.tunnels).toHaveLength(1);
    through(name, proxy.url, 'market.example');
    await rejection(ask());
    expect(proxy.tunnels).toHaveLength(1);
  });

  it('is asked for each service by that name, and loopback after it by its own', async () => {
    const upstream = await startUpstream(answered);
    const proxy = await forwardProxy(upstream.url);
    onTestFinished(proxy.close);
    through('http_proxy', proxy.url);
    for (const url of [far, 'http://other.example', upstream.url]) await ask(url);
    expect(upstream.requests.map(({ headers }) => headers.host)).toEqual([
      ...['market.example', 'other.example'],
      new URL(upstream.url).host,
    ]);
  });

  it('opens a tunnel for each exchange of an auth_key', async () => {
    const upstream = await startUpstream(answered);
    const proxy = await forwardProxy(upstream.url);
    onTestFinished(proxy.close);
    through('http_proxy', proxy.url);
    const loginApi = loginApiOf(far, { allowInsecure: true });
    await loginApi.exchange('one');
    await Promise.all(['two', 'three'].map((key) => loginApi.exchange(key)));
    expect(proxy.tunnels).toHaveLength(3);
  });

  const refusingProxy = async (status: number) => {
    const server = createServer().on('connect', (_req, socket) =>
      socket.end(`HTTP/1.1 ${status} x\r\ncontent-length: 0\r\n\r\n`),
    );
    return `http://127.0.0.1:${await portOf(server)}`;
  };

  it.each<[string, () => string | Promise<string>, RegExp]>([
    ['that wants a password', () => refusingProxy(407), /user name and a password \(HTTP 407\)/],
    ['that refuses the host', () => refusingProxy(403), /proxy refuses to connect \(PROXY_403\)/],
    [
      'that is not there',
      refusing,
      /proxy of HTTPS_PROXY or HTTP_PROXY cannot be reached: the con/,
    ],
    ['whose URL lacks http://', () => 'me:secret@proxy.example:3128', /is no http URL/],
    ['of SOCKS', () => 'socks5://me:secret@127.0.0.1:1080', /a SOCKS proxy cannot be used/],
  ])('%s is named as such', async (_how, url, says) => {
    through('http_proxy', await url());
    const error = await rejection(ask());
    expect(error.code).toBe('service_unavailable');
    expect(error.message).toMatch(says);
    expect(error.message).not.toContain('secret');
  });

  it('that cannot be used says nothing about the service, nor about what NO_PROXY names', async () => {
    const socks = 'socks5://127.0.0.1:1080';
    through('http_proxy', socks);
    expect((await rejection(ask())).cause).toMatchObject({ kind: 'own' });
    const { port } = new URL((await startUpstream(answered)).url);
    const lookup = vi
      .spyOn(dns, 'lookup')
      .mockImplementation(((_h: string, _o: object, done: (...found: unknown[]) => void) =>
        done(null, [{ address: '127.0.0.1', family: 4 }])) as never);
    through('http_proxy', socks, 'market.example');
    expect((await ask(`${far}:${port}`)).username).toBe('adanorth');
    expect(lookup).toHaveBeenCalled();
  });
});

describe('a certificate', () => {
  const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
  const leaf = read('./leaf.pem');
  const identity = { key: leaf, cert: leaf };

  it('is looked at once by exchanges that follow each other: they resume the TLS session', async () => {
    withoutProxies();
    const resumed: boolean[] = [];
    const near = await https(identity, ({ socket }, res) => {
      resumed.push((socket as tls.TLSSocket).isSessionReused());
      json(res, { access_token: 'token' });
    });
    const { lookup } = dns;
    const toHere = (_host: string, ...rest: [dns.LookupOptions, () => void]) =>
      lookup('127.0.0.1', ...rest);
    vi.spyOn(dns, 'lookup').mockImplementation(toHere as never);
    const { connect } = tls;
    const unverified = (options: object) => connect({ ...options, rejectUnauthorized: false });
    vi.spyOn(tls, 'connect').mockImplementation(unverified as never);
    const loginApi = loginApiOf(near.replace('127.0.0.1', 'market.example'));
    for (const key of ['one', 'two', 'three']) await loginApi.exchange(key);
    expect(resumed).toEqual([false, true, true]);
  });

  it.each<[string, Parameters<typeof https>[0], RegExp]>([
    ['without its chain', identity, /chain is incomplete.*NODE_EXTRA_CA_CERTS/],
    [
      "of a company's own authority",
      { key: leaf, cert: leaf + read('./authority.pem') },
      /an authority that is unknown here, such as that of a company.*NODE_EXTRA_CA_CERTS/,
    ],
    [
      'behind a TLS that is too old',
      { ...identity, minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' },
      /versions of TLS that are too old/,
    ],
  ])('%s is named as such', async (_how, server, says) => {
    await expectError(keyApiOf(await https(server)).getAccount(), 'service_unavailable', says);
  });
});

import { globalAgent, type ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type ClientOptions, KeyApi, LoginApi } from 'marketgate';
import { Agent, interceptors, MockAgent, fetch as undiciFetch } from 'undici';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { everythingOf, expectError, rejection, throwing } from '../../support/errors.js';
import { forwardProxy } from '../../support/forward-proxy.js';
import { portOf, refusing } from '../../support/listen.js';
import { type Answerer, json, startUpstream } from '../../support/upstream.js';
import { account, CODE, KEY, purchase, success } from '../../support/wire.js';

function opened(agent: Agent): Agent {
  onTestFinished(() => agent.destroy());
  return agent;
}

/** The two ways in which a request can go out. */
const WAYS: [string, () => ClientOptions][] = [
  ['a pool or another dispatcher', () => ({})],
  ['fetch', () => ({ fetch: globalThis.fetch })],
];

function keyApiOf(baseUrl: string, options: object = {}): KeyApi {
  const keyApi = new KeyApi({ baseUrl, apiKey: KEY, retries: 0, cache: false, ...options });
  onTestFinished(() => keyApi.close());
  return keyApi;
}

function loginApiOf(authUrl: string, options: object = {}): LoginApi {
  const loginApi = new LoginApi({ authUrl, appId: 'app', appSecret: 'secret', ...options });
  onTestFinished(() => loginApi.close());
  return loginApi;
}

const eventually = (check: () => void) => vi.waitFor(check, { interval: 2, timeout: 40_000 });

const answered: Answerer = (_request, res) => json(res, success({ data: account }));
const endless: Answerer = (_request, res) => {
  const chunk = Buffer.alloc(16 * 1024, ' ');
  const more = (): void => {
    if (!res.destroyed) res.write(chunk, more);
  };
  more();
};
const gzipped =
  (body: string | Buffer): Answerer =>
  (_request, res) =>
    res.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(body));

describe.each(WAYS)('through %s', (_way, options) => {
  const open = (url: string, others: object = {}) => keyApiOf(url, { ...options(), ...others });

  it('a request names itself, asks for JSON uncompressed, and is not taken for a browser', async () => {
    const upstream = await startUpstream(answered);
    await open(`${upstream.url}/shop/`).getAccount();
    expect(upstream.requests).toMatchObject([
      {
        path: '/shop/api/account/details',
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          'user-agent': expect.stringMatching(
            /^marketgate\/(?!.*(Mozilla|Chrome|Firefox|Edge|Opera))/i,
          ),
        },
      },
    ]);
  });

  it.each([301, 302, 303, 307, 308])('HTTP %d is refused, and not followed', async (status) => {
    const other = await startUpstream(answered);
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(status, { location: `${other.url}/api/purchases/validation` }).end();
    });
    const call = open(upstream.url).validatePurchase(CODE);
    await expectError(call, 'unexpected_response', 'redirected');
    expect(upstream.requests).toMatchObject([
      {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `api_key=${KEY}&purchase_code=${CODE}`,
      },
    ]);
    expect(other.requests).toHaveLength(0);
  });

  it.each<[string, Answerer]>([
    ['is', answered],
    ['is endless', endless],
    ['unpacks into one that is', gzipped(Buffer.alloc(4_000_000, ' '))],
  ])('a response that %s larger than maxResponseBytes is refused', async (how, answer) => {
    const upstream = await startUpstream(answer);
    const error = await rejection(open(upstream.url, { maxResponseBytes: 100 }).getAccount());
    expect(error.code).toBe('unexpected_response');
    // undici does not unpack it: there, it is no JSON.
    if (!how.startsWith('unpacks')) {
      expect(error.message).toContain('larger than 100 bytes; raise "maxResponseBytes"');
    }
  });

  const paused = { code: 'service_unavailable', retryAfter: 7 };
  it.each<[number, string, object, object]>([
    [429, 'is too large', paused, { maxResponseBytes: 999 }],
    [503, 'is too large', paused, { maxResponseBytes: 999 }],
    [429, 'never ends', paused, { timeout: 250 }],
    [503, 'never ends', paused, { timeout: 250 }],
    [429, 'cannot be unpacked', paused, {}],
    [503, 'cannot be unpacked', paused, {}],
    [302, 'never ends', { code: 'unexpected_response' }, {}],
  ])('HTTP %d counts although its body %s', async (status, how, expected, limit) => {
    const upstream = await startUpstream((_request, res) => {
      const encoding = how === 'cannot be unpacked' && { 'content-encoding': 'gzip' };
      res.writeHead(status, { 'retry-after': '7', location: '/', ...encoding });
      res.write('x'.repeat(5000));
      if (how !== 'never ends') res.end();
    });
    expect(await rejection(open(upstream.url, limit).getAccount())).toMatchObject(expected);
  });

  it('a Retry-After date is compared with the date of the response, because clocks differ', async () => {
    const upstream = await startUpstream((_request, res) => {
      const [date, until] = [0, 30_000].map((ms) => new Date(1e12 + ms).toUTCString());
      res.writeHead(503, { date, 'retry-after': until }).end();
    });
    expect((await rejection(open(upstream.url).getAccount())).retryAfter).toBe(30);
  });

  it.each<[string, (res: ServerResponse) => unknown]>([
    ['before the headers', (res) => res.destroy()],
    [
      'in the body',
      (res) => res.writeHead(200, { 'content-length': '1000' }).write('{', () => res.destroy()),
    ],
  ])('a connection that is cut %s is an outage', async (_name, cut) => {
    const upstream = await startUpstream((_request, res) => cut(res));
    const call = open(upstream.url).getAccount();
    await expectError(call, 'service_unavailable', /connection was cut|answer was cut off/);
  });

  it('no connection is an outage, and so is https to a port that speaks plain http', async () => {
    const url = await refusing();
    await expectError(
      open(url).getAccount(),
      'service_unavailable',
      `GET /api/account/details: the connection was refused (ECONNREFUSED); check that ${url} runs`,
    );
    const upstream = await startUpstream((_request, res) => res.end('{}'));
    const call = open(upstream.url.replace('http:', 'https:')).getAccount();
    await expectError(call, 'service_unavailable', 'the port does not speak TLS');
  });

  it.each([
    ['never comes', (_res: ServerResponse) => {}],
    ['trickles', (res: ServerResponse) => res.writeHead(200).write('{"status":')],
  ])('the timeout ends a call whose response %s', async (_name, answer) => {
    const upstream = await startUpstream((_request, res) => answer(res));
    const call = open(upstream.url, { timeout: 60 }).getAccount();
    await expectError(call, 'service_unavailable', 'details: no answer within 60 ms');
  });

  it('an abort ends the call with its own reason, and the request on the wire', async () => {
    const closed = vi.fn();
    const upstream = await startUpstream((_request, res) => res.on('close', closed));
    const leaving = new AbortController();
    const keyApi = open(upstream.url);
    const call = keyApi.getAccount({ signal: leaving.signal });
    await eventually(() => expect(upstream.requests).toHaveLength(1));
    const reason = new Error('the visitor left');
    leaving.abort(reason);
    await expect(call).rejects.toBe(reason);
    await eventually(() => expect(closed).toHaveBeenCalled());
    await expect(keyApi.getAccount({ signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
    expect(upstream.requests).toHaveLength(1);
  });

  it('close() ends calls in progress on the wire, and refuses later ones', async () => {
    const closed = vi.fn();
    const upstream = await startUpstream((_request, res) => res.on('close', closed));
    const keyApi = open(upstream.url);
    const loginApi = loginApiOf(upstream.url, options());
    const calls = [
      keyApi.validatePurchase(CODE),
      keyApi.listItems(),
      loginApi.exchange('auth-key-1'),
      loginApi.getUser('a-token'),
    ].map(rejection);
    await eventually(() => expect(upstream.requests).toHaveLength(4));
    await Promise.all([keyApi.close(), keyApi.close(), loginApi.close()]);
    await eventually(() => expect(closed).toHaveBeenCalledTimes(4));
    const later = [keyApi.getAccount(), loginApi.exchange('auth-key-2')].map(rejection);
    for (const error of await Promise.all([...calls, ...later])) {
      expect(error.code).toBe('service_unavailable');
      expect(error.message).toContain('this client was closed');
    }
    expect(upstream.requests).toHaveLength(4);
  });
});

it('the error of what is no HTTP does not repeat what was sent', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\nsecret-of-the-service'));
  });
  const error = await rejection(keyApiOf(`http://127.0.0.1:${await portOf(server)}`).getAccount());
  expect(error.code).toBe('service_unavailable');
  expect(error.message).toContain('the answer is not valid HTTP/1.1');
  expect(everythingOf(error)).not.toContain('secret-of-the-service');
});

describe('without a dispatcher', () => {
  it.each<[string, (undici: object) => object, boolean]>([
    [
      'undici is found in a bundle that has it at `default` only',
      (u) => ({ default: u, Pool: undefined }),
      false,
    ],
    [
      'fetch sends where the runtime has replaced undici, as Bun does',
      (u) => ({ ...u, Pool: class {} }),
      true,
    ],
  ])('%s', async (_name, make, isFetched) => {
    const undici = await vi.importActual<object>('undici');
    vi.doMock('undici', () => make(undici));
    onTestFinished(() => void vi.doUnmock('undici'));
    const fetched = vi.spyOn(globalThis, 'fetch');
    const upstream = await startUpstream(answered);
    expect((await keyApiOf(upstream.url).getAccount()).username).toBe('adanorth');
    expect(fetched).toHaveBeenCalledTimes(isFetched ? 1 : 0);
  });

  it('the proxies of the environment are used where Node.js itself uses them', async () => {
    const upstream = await startUpstream(answered);
    const { url, tunnels, close } = await forwardProxy();
    onTestFinished(close);
    vi.stubEnv('http_proxy', url);
    vi.stubEnv('no_proxy', '');
    await keyApiOf(upstream.url).getAccount();
    expect(tunnels).toEqual([]);
    // As Node.js sets it with NODE_USE_ENV_PROXY=1.
    const { options } = globalAgent as unknown as { options: object };
    Object.assign(options, { proxyEnv: process.env });
    onTestFinished(() => void Reflect.deleteProperty(options, 'proxyEnv'));
    await keyApiOf(upstream.url).getAccount();
    expect(tunnels).toEqual([new URL(upstream.url).host]);
  });
});

describe('a dispatcher', () => {
  it('stays open when the client is closed', async () => {
    const upstream = await startUpstream(answered);
    const dispatcher = opened(new Agent());
    const keyApi = keyApiOf(upstream.url, { dispatcher });
    await keyApi.getAccount();
    await keyApi.close();
    expect(dispatcher.closed).toBe(false);
  });

  const redirect = interceptors.redirect({ maxRedirections: 5 });
  const methods = ['GET', 'POST'] as const;
  const retry = interceptors.retry({ methods: [...methods], minTimeout: 1, maxTimeout: 2 });

  it('that would follow redirects follows none', async () => {
    const other = await startUpstream(answered);
    let status = 0;
    const upstream = await startUpstream((request, res) => {
      res.writeHead(status, { location: `${other.url}${request.path}` }).end();
    });
    const dispatcher = opened(new Agent()).compose(redirect);
    const keyApi = keyApiOf(upstream.url, { dispatcher });
    const loginApi = loginApiOf(upstream.url, { dispatcher });
    for (status of [301, 302, 303, 307, 308]) {
      for (const call of [
        () => keyApi.getAccount({ fresh: true }),
        () => keyApi.validatePurchase(CODE),
        () => loginApi.exchange('auth-key-1'),
        () => loginApi.getUser('a-token'),
      ]) {
        await expectError(call(), 'unexpected_response', 'redirected');
      }
    }
    expect(other.requests).toEqual([]);
  });

  it('that has followed one all the same is not believed', async () => {
    const other = await startUpstream(answered);
    const upstream = await startUpstream((_request, res) =>
      res.writeHead(302, { location: other.url }).end(),
    );
    const dispatcher = opened(new Agent()).compose(
      redirect,
      (dispatch) =>
        ({ ...options }, handler) =>
          dispatch(Object.assign(options, { maxRedirections: 5 }), handler),
    );
    const call = keyApiOf(upstream.url, { dispatcher }).getAccount();
    await expectError(call, 'unexpected_response', 'redirected');
  });

  it.each(['get', 'post'] as const)(
    'that retries by itself sends an auth_key once, by %s',
    async (authorizeMethod) => {
      const upstream = await startUpstream((_request, res) => res.writeHead(500).end());
      const dispatcher = opened(new Agent()).compose(retry);
      const loginApi = loginApiOf(upstream.url, { authorizeMethod, dispatcher });
      await expectError(loginApi.exchange('auth-key-1'), 'service_unavailable', 'HTTP 500');
      expect(upstream.requests).toHaveLength(1);
    },
  );

  it('can be a MockAgent or one of its pools', async () => {
    const mock = new MockAgent();
    onTestFinished(() => mock.close());
    mock.disableNetConnect();
    const pool = mock.get('https://market.example');
    const path = `/api/account/details?api_key=${KEY}`;
    pool
      .intercept({ path })
      .reply(200, success({ data: account }))
      .times(2);
    for (const dispatcher of [mock, pool]) {
      const keyApi = keyApiOf('https://market.example', { dispatcher });
      expect((await keyApi.getAccount()).username).toBe('adanorth');
      await expectError(keyApi.listItems(), 'service_unavailable');
    }
  });
});

describe('a fetch', () => {
  const base = 'https://market.example';
  const calling = (fetch: ClientOptions['fetch'], options: object = {}) =>
    rejection(keyApiOf(base, { fetch, ...options }).getAccount());

  it('gets the URL, and no redirect to follow', async () => {
    const fetch = vi.fn(async (_url: string, _init: RequestInit) =>
      Response.json(success({ data: { purchase } })),
    );
    const keyApi = keyApiOf(`${base}/shop`, { fetch, validationEncoding: 'query' });
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    const [url, init] = fetch.mock.calls[0] ?? [];
    expect(url).toBe(`${base}/shop/api/purchases/validation?api_key=${KEY}&purchase_code=${CODE}`);
    expect(init).toMatchObject({ method: 'POST', redirect: 'manual', body: null });
  });

  it.each([
    ['follows a redirect all the same', { redirected: true, type: 'basic', status: 200 }],
    ['hides it, as browsers do', { redirected: false, type: 'opaqueredirect', status: 0 }],
  ])('that %s is refused', async (_name, response) => {
    const given = { headers: new Headers(), body: null, ...response } as Response;
    const { code, message } = await calling(async () => given);
    expect([code, message]).toEqual(['unexpected_response', expect.stringContaining('redirected')]);
  });

  it.each([
    ['of Node.js', fetch],
    ['of another undici', undiciFetch],
  ])('%s gives a body that it has unpacked', async (_whose, fetch) => {
    const upstream = await startUpstream(gzipped(JSON.stringify(success({ data: account }))));
    expect((await keyApiOf(upstream.url, { fetch }).getAccount()).username).toBe('adanorth');
  });

  it('that ignores its signal is left at the deadline, also with its body', async () => {
    const stuck = new Response(new ReadableStream());
    for (const fetch of [() => new Promise<never>(() => {}), async () => stuck]) {
      const error = await calling(fetch, { timeout: 20 });
      expect(error.message).toContain('no answer within 20 ms');
    }
  });

  const circle = Object.assign(new Error('x'), { cause: {} });
  circle.cause = { cause: circle };
  it.each<[string, () => unknown]>([
    ['throws', throwing(new Error(`cannot fetch ${base}?api_key=${KEY}`))],
    ['rejects', () => Promise.reject(new Error('failed', { cause: new Error(KEY) }))],
    ['rejects with a code', () => Promise.reject({ code: KEY.toUpperCase() })],
    ['rejects with a circle', () => Promise.reject(circle)],
    ['rejects with nothing', () => Promise.reject(undefined)],
    ['gives the Response of an error', () => Promise.resolve(Response.error())],
    ['gives no Response', () => Promise.resolve({ url: KEY })],
  ])('that %s is an outage, and its error is dropped', async (_name, fetch) => {
    const error = await calling(fetch as never);
    expect(error.code).toBe('service_unavailable');
    expect(error.message).toContain('the request failed');
    expect(everythingOf(error).toLowerCase()).not.toContain(KEY);
  });
});

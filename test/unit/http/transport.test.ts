import { globalAgent, type ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type ClientOptions, KeyApi, LoginApi } from 'marketgate';
import { Agent, type Dispatcher, interceptors, MockAgent, fetch as undiciFetch } from 'undici';
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

/** Every way in which a request can go out. */
const WAYS: [string, () => ClientOptions][] = [
  ['the own pool', () => ({})],
  ['a dispatcher', () => ({ dispatcher: opened(new Agent()) })],
  ['fetch', () => ({ fetch: globalThis.fetch })],
  ['the fetch of undici', () => ({ fetch: undiciFetch })],
];

function client(baseUrl: string, options: object = {}): KeyApi {
  const keyApi = new KeyApi({ baseUrl, apiKey: KEY, retries: 0, cache: false, ...options });
  onTestFinished(() => keyApi.close());
  return keyApi;
}

const CLOSED = expect.stringContaining('this client was closed');

const eventually = (check: () => void) => vi.waitFor(check, { interval: 2, timeout: 40_000 });

const answered: Answerer = (_request, res) => json(res, success({ data: account }));

const sold: Answerer = (_request, res) => json(res, success({ data: { purchase } }));

describe.each(WAYS)('through %s', (way, options) => {
  const open = (url: string, others: object = {}) => client(url, { ...options(), ...others });

  it('a request names itself, asks for JSON uncompressed, and is not taken for a browser', async () => {
    const upstream = await startUpstream(answered);
    await open(`${upstream.url}/shop/`).getAccount();
    const [{ path, headers } = { path: '', headers: {} }] = upstream.requests;
    expect(path).toBe('/shop/api/account/details');
    expect(headers['user-agent']).toMatch(
      /^marketgate\/(?!.*(Mozilla|Chrome|Firefox|Edge|Opera))/i,
    );
    expect(headers).toMatchObject({ accept: 'application/json', 'accept-encoding': 'identity' });
  });

  it('a POST has its body and its type', async () => {
    const upstream = await startUpstream(sold);
    await open(upstream.url).validatePurchase(CODE);
    const [request] = upstream.requests;
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(request?.body).toBe(`api_key=${KEY}&purchase_code=${CODE}`);
  });

  it.each([301, 302, 303, 307, 308])('HTTP %d is not followed', async (status) => {
    const other = await startUpstream(sold);
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(status, { location: `${other.url}/api/purchases/validation` }).end();
    });
    const error = await rejection(open(upstream.url).validatePurchase(CODE));
    expect(error).toMatchObject({ code: 'unexpected_response', status: 502 });
    expect(error.message).toContain('redirected');
    expect(other.requests).toHaveLength(0);
  });

  it('a response larger than allowed by its Content-Length is refused', async () => {
    const upstream = await startUpstream(answered);
    const error = await rejection(open(upstream.url, { maxResponseBytes: 100 }).getAccount());
    expect(error).toMatchObject({
      code: 'unexpected_response',
      message: expect.stringContaining('larger than 100 bytes; raise "maxResponseBytes"'),
    });
  });

  it('an endless response is cut off while it is read, and not after', async () => {
    let sent = 0;
    const upstream = await startUpstream((_request, res) => {
      const chunk = Buffer.alloc(16 * 1024, ' ');
      const more = (): void => {
        if (res.destroyed) return;
        sent += chunk.length;
        res.write(chunk, more);
      };
      more();
    });
    const keyApi = open(upstream.url, { maxResponseBytes: 64 * 1024 });
    await expectError(keyApi.getAccount(), 'unexpected_response');
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  it('a compressed response is read where fetch has decoded it, and refused elsewhere', async () => {
    const body = gzipSync(JSON.stringify(success({ data: account })));
    const upstream = await startUpstream((_request, res) =>
      res.writeHead(200, { 'content-encoding': 'gzip' }).end(body),
    );
    const call = open(upstream.url).getAccount();
    if (way.includes('fetch')) {
      expect((await call).username).toBe('adanorth');
    } else {
      await expectError(call, 'unexpected_response', 'the answer is compressed');
    }
  });

  it('a small response that unpacks into a large one is refused', async () => {
    const body = gzipSync(Buffer.alloc(4 * 1024 * 1024, ' '));
    const upstream = await startUpstream((_request, res) =>
      res.writeHead(200, { 'content-encoding': 'gzip' }).end(body),
    );
    const keyApi = open(upstream.url, { maxResponseBytes: 65_536 });
    await expectError(keyApi.getAccount(), 'unexpected_response');
  });

  it.each([
    [429, { 'content-length': '999999' }],
    [503, { 'content-length': '999999' }],
  ])('HTTP %d with an unread body is an outage, with its Retry-After', async (status, headers) => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(status, { ...headers, 'retry-after': '7' }).write('{');
    });
    const error = await rejection(open(upstream.url, { maxResponseBytes: 999 }).getAccount());
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: 7 });
  });

  it.each<[string, object, (res: ServerResponse) => unknown]>([
    ['is cut', {}, (res) => res.destroy()],
    ['never ends', { timeout: 300 }, () => {}],
  ])('an outage whose body %s keeps its Retry-After', async (_name, others, then) => {
    const upstream = await startUpstream((_request, res) => {
      const headers = { 'content-length': '1000', 'retry-after': '7' };
      res.writeHead(429, headers).write('{', () => then(res));
    });
    const keyApi = open(upstream.url, { retries: 2, ...others });
    const outage = { code: 'service_unavailable', retryAfter: 7 };
    expect(await rejection(keyApi.getAccount())).toMatchObject(outage);
    expect(await rejection(keyApi.getAccount())).toMatchObject(outage);
    expect(upstream.requests).toHaveLength(1);
  });

  it('a Retry-After date is compared with the date of the response, because clocks differ', async () => {
    const upstream = await startUpstream((_request, res) => {
      const [date, until] = [0, 30_000].map((ms) =>
        new Date(Date.UTC(2020, 0, 1) + ms).toUTCString(),
      );
      res.writeHead(503, { date, 'retry-after': until }).end();
    });
    const error = await rejection(open(upstream.url).getAccount());
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: 30 });
  });

  it.each<[string, (res: ServerResponse) => unknown]>([
    ['before the headers', (res) => res.destroy()],
    [
      'in the body',
      (res) => res.writeHead(200, { 'content-length': '1000' }).write('{', () => res.destroy()),
    ],
  ])('a connection that is cut %s is an outage', async (_name, cut) => {
    const upstream = await startUpstream((_request, res) => cut(res));
    await expectError(
      open(upstream.url).getAccount(),
      'service_unavailable',
      /the connection was cut|the answer was cut off/,
    );
  });

  it('no connection is an outage', async () => {
    const url = await refusing();
    expect(await rejection(open(url).getAccount())).toMatchObject({
      code: 'service_unavailable',
      status: 503,
      message: `GET /api/account/details: the connection was refused (ECONNREFUSED); check that ${url} runs and can be reached (npx marketgate explain service_unavailable)`,
    });
  });

  it('https to a port that speaks plain http is an outage, in words', async () => {
    const upstream = await startUpstream((_request, res) => res.end('{}'));
    await expectError(
      open(upstream.url.replace('http:', 'https:')).getAccount(),
      'service_unavailable',
      /details: the port does not speak TLS \((ERR_SSL_\w+|EPROTO)\)/,
    );
  });

  it.each([
    ['never comes', (_res: ServerResponse) => {}],
    ['trickles', (res: ServerResponse) => res.writeHead(200).write('{"status":')],
  ])('the deadline ends a call whose response %s', async (_name, answer) => {
    const upstream = await startUpstream((_request, res) => answer(res));
    await expectError(
      open(upstream.url, { timeout: 60 }).getAccount(),
      'service_unavailable',
      'GET /api/account/details: no answer within 60 ms',
    );
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
    const app = { authUrl: upstream.url, appId: 'a', appSecret: 's' };
    const loginApi = new LoginApi({ ...app, ...options() });
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
    for (const call of [...calls, ...later]) {
      expect(await call).toMatchObject({ code: 'service_unavailable', message: CLOSED });
    }
    expect(upstream.requests).toHaveLength(4);
  });
});

it('the own pool reuses its connections', async () => {
  const upstream = await startUpstream(answered);
  const keyApi = client(upstream.url);
  for (let i = 0; i < 12; i++) await keyApi.getAccount();
  // Two and not one: undici gives a socket a turn of the event loop before it is used again.
  expect(new Set(upstream.requests.map((request) => request.port)).size).toBeLessThanOrEqual(2);
});

it.each([
  ['no HTTP at all', 'SSH-2.0-OpenSSH\r\n', 'Expected HTTP/'],
  ['lines that end in LF alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\n{}', 'Missing expected CR'],
  ['a status that is none', 'HTTP/1.1 2x0 OK\r\n\r\n', 'Invalid status code'],
  ['a length that is none', 'HTTP/1.1 200 OK\r\nContent-Length: a\r\n\r\n', 'Content-Length'],
])('%s: the error says what is wrong, and not what was sent', async (_name, sent, says) => {
  const server = createServer((socket) => {
    socket.once('data', () => socket.end(`${sent}secret-of-the-service`));
  });
  const url = `http://127.0.0.1:${await portOf(server)}`;
  const error = await rejection(client(url).getAccount());
  expect(error.code).toBe('service_unavailable');
  expect(error.message).toContain(`the answer is not valid HTTP/1.1 (`);
  expect(error.message).toContain(says);
  expect(everythingOf(error)).not.toMatch(/UNKNOWN|secret-of-the-service/);
});

describe('without a dispatcher', () => {
  /** What `import('undici')` gives meanwhile. */
  const whereUndiciIs = async (make: (undici: object) => object): Promise<void> => {
    const undici = await vi.importActual<object>('undici');
    vi.doMock('undici', () => make(undici));
    onTestFinished(() => void vi.doUnmock('undici'));
  };

  it('undici is loaded when the client is made, and not while the first customer waits', async () => {
    let isLoaded = false;
    await whereUndiciIs((undici) => {
      isLoaded = true;
      return undici;
    });
    client('http://127.0.0.1:9');
    await eventually(() => expect(isLoaded).toBe(true));
  });

  it('undici is found in a bundle that has it at `default` only', async () => {
    await whereUndiciIs((undici) => ({ default: undici, Pool: undefined }));
    const upstream = await startUpstream(answered);
    expect((await client(upstream.url).getAccount()).username).toBe('adanorth');
  });

  it('fetch sends where the runtime has replaced undici, as Bun does', async () => {
    await whereUndiciIs((undici) => ({ ...undici, Pool: class {} }));
    const fetched = vi.spyOn(globalThis, 'fetch');
    const upstream = await startUpstream(answered);
    expect((await client(upstream.url).getAccount()).username).toBe('adanorth');
    expect(fetched).toHaveBeenCalledOnce();
  });

  it('the proxies of the environment are used where Node.js itself uses them', async () => {
    const upstream = await startUpstream(answered);
    const { url, tunnels, close } = await forwardProxy();
    onTestFinished(close);
    vi.stubEnv('http_proxy', url);
    vi.stubEnv('no_proxy', '');

    await client(upstream.url).getAccount();
    expect(tunnels).toEqual([]);

    // As Node.js sets it with NODE_USE_ENV_PROXY=1.
    const { options } = globalAgent as unknown as { options: object };
    Object.assign(options, { proxyEnv: process.env });
    onTestFinished(() => void Reflect.deleteProperty(options, 'proxyEnv'));
    await client(upstream.url).getAccount();
    expect(tunnels).toEqual([new URL(upstream.url).host]);

    vi.stubEnv('no_proxy', '127.0.0.1');
    await client(upstream.url).getAccount();
    expect(tunnels).toHaveLength(1);
  });
});

describe('a dispatcher', () => {
  it('stays open when the client is closed', async () => {
    const upstream = await startUpstream(answered);
    const dispatcher = opened(new Agent());
    const keyApi = client(upstream.url, { dispatcher });
    await keyApi.getAccount();
    await keyApi.close();
    expect(dispatcher.closed).toBe(false);
  });

  const redirecting = interceptors.redirect({ maxRedirections: 5 });
  type Compose = Parameters<Dispatcher['compose']>[0];
  const withoutOptions: Compose = (dispatch) => (options, handler) => {
    const { maxRedirections: _, ...others } = options as { maxRedirections?: number };
    return dispatch(others as Dispatcher.DispatchOptions, handler);
  };
  const wishing: Compose = (dispatch) => (options, handler) =>
    dispatch({ ...options, maxRedirections: 5 } as Dispatcher.DispatchOptions, handler);

  it.each<[string, Compose[]]>([
    ['the redirect interceptor', [redirecting]],
    ['it, under one that makes options of its own', [redirecting, withoutOptions]],
    ['a wish to follow in every request', [interceptors.redirect(), wishing]],
  ])('with %s follows no redirect', async (_name, composed) => {
    const other = await startUpstream((_request, res) =>
      json(res, { ...success({ data: { ...account, purchase } }), access_token: 'stolen' }),
    );
    let status = 0;
    const upstream = await startUpstream((request, res) => {
      res.writeHead(status, { location: `${other.url}${request.path}?${request.query}` }).end();
    });
    const dispatcher = opened(new Agent()).compose(...composed);
    const keyApi = client(upstream.url, { dispatcher });
    const loginApi = new LoginApi({
      ...{ authUrl: upstream.url, appId: 'app', appSecret: 'secret', dispatcher },
    });
    onTestFinished(() => loginApi.close());
    for (status of [301, 302, 303, 307, 308]) {
      for (const call of [
        () => keyApi.getAccount(),
        () => keyApi.validatePurchase(CODE),
        () => loginApi.exchange('auth-key-1'),
        () => loginApi.getUser('a-token'),
      ]) {
        await expectError(call(), 'unexpected_response', 'redirected');
      }
    }
    expect(other.requests).toEqual([]);
    expect(upstream.requests).toHaveLength(20);
  });
});

it.each(['get', 'post'] as const)(
  'a dispatcher that retries by itself sends an auth_key once: %s',
  async (authorizeMethod) => {
    const upstream = await startUpstream((_request, res) => res.writeHead(500).end());
    const methods = ['GET', 'POST'] as Dispatcher.HttpMethod[];
    const retry = interceptors.retry({ methods, minTimeout: 1, maxTimeout: 2 });
    const loginApi = new LoginApi({
      ...{ authUrl: upstream.url, appId: 'app', appSecret: 'secret', authorizeMethod },
      dispatcher: opened(new Agent()).compose(retry),
    });
    onTestFinished(() => loginApi.close());
    await expectError(loginApi.exchange('auth-key-1'), 'service_unavailable', 'works once');
    expect(upstream.requests).toHaveLength(1);
  },
);

it('a MockAgent and its pools answer', async () => {
  const mock = new MockAgent();
  onTestFinished(() => mock.close());
  mock.disableNetConnect();
  const pool = mock.get('https://market.example');
  pool
    .intercept({ path: `/api/account/details?api_key=${KEY}` })
    .reply(200, success({ data: account }))
    .times(2);
  for (const dispatcher of [mock, pool]) {
    const keyApi = client('https://market.example', { dispatcher });
    expect((await keyApi.getAccount()).username).toBe('adanorth');
    await expectError(keyApi.listItems(), 'service_unavailable');
  }
});

describe('a fetch', () => {
  const base = 'https://market.example';
  const calling = (fetch: ClientOptions['fetch'], options: object = {}) =>
    rejection(client(base, { fetch, ...options }).getAccount());

  it('gets the URL, and no redirect to follow', async () => {
    const answer = success({ data: account });
    const fetch = vi.fn(async (_url: string, _init: RequestInit) => Response.json(answer));
    expect((await client(`${base}/shop`, { fetch }).getAccount()).username).toBe('adanorth');
    const [url, init] = fetch.mock.calls[0] ?? [];
    expect(url).toBe(`${base}/shop/api/account/details?api_key=${KEY}`);
    expect(init).toMatchObject({ method: 'GET', redirect: 'manual', body: null });
  });

  it.each([
    ['follows a redirect all the same', { redirected: true, type: 'basic', status: 200 }],
    ['hides it, as browsers do', { redirected: false, type: 'opaqueredirect', status: 0 }],
  ])('that %s is refused', async (_name, response) => {
    const redirect = { headers: new Headers(), body: null, ...response } as Response;
    const error = await calling(async () => redirect);
    expect(error.code).toBe('unexpected_response');
    expect(error.message).toContain('redirected');
  });

  it('that ignores its signal is left at the deadline', async () => {
    const error = await calling(() => new Promise(() => {}), { timeout: 20 });
    expect(error.message).toContain('no answer within 20 ms');
  });

  it.each<[string, () => unknown]>([
    ['throws', throwing(new Error(`cannot fetch ${base}?api_key=${KEY}`))],
    ['rejects', () => Promise.reject(new Error('failed', { cause: new Error(KEY) }))],
    ['rejects with a code', () => Promise.reject({ code: KEY.toUpperCase() })],
    [
      'rejects with a circle',
      () => {
        const error = new Error('x');
        return Promise.reject(Object.assign(error, { cause: { cause: error } }));
      },
    ],
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

/** A dispatcher that gives handlers to its interceptors as they are, as those of undici 6 and 8 do. */
class OtherUndici {
  dispatch() {
    return true;
  }
  request() {}
  compose(interceptor: (dispatch: object) => object) {
    return { dispatch: interceptor(this.dispatch) };
  }
}

const NOT_UNDICI_7 =
  'option "dispatcher" must be a Dispatcher of undici 7; give the "fetch" of another version as option "fetch"';

it.each<[string, object, string]>([
  ['a fetch that is no function', { fetch: 'fetch' }, 'option "fetch" must be a function'],
  ['no Dispatcher', { dispatcher: { dispatch() {}, request() {} } }, NOT_UNDICI_7],
  ['a Dispatcher of another undici', { dispatcher: new OtherUndici() }, NOT_UNDICI_7],
  ['both', { fetch, dispatcher: new MockAgent() }, 'option "fetch" cannot go with "dispatcher"'],
])('%s is a TypeError', (_name, options, message) => {
  const app = { appId: 'app', appSecret: 'secret' };
  const makers = {
    KeyApi: () => new KeyApi({ baseUrl: 'https://a.test', apiKey: KEY, ...options }),
    LoginApi: () => new LoginApi({ authUrl: 'https://a.test', ...app, ...options }),
  };
  for (const [name, make] of Object.entries(makers)) {
    expect(make).toThrow(new TypeError(`${name}: ${message}`));
  }
});

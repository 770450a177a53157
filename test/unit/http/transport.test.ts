import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { type ClientOptions, KeyApi, LoginApi } from 'marketgate';
import { fetch as undiciFetch } from 'undici';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { everythingOf, expectError, rejection, throwing } from '../../support/errors.js';
import { portOf, refusing } from '../../support/listen.js';
import { type Answerer, json, startUpstream } from '../../support/upstream.js';
import { account, CODE, KEY, purchase, success } from '../../support/wire.js';

/** The two ways in which a request can go out. */
const WAYS: [string, () => ClientOptions][] = [
  ["the package's own connections", () => ({})],
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
/** An account in an encoding. */
const latin1 = (text: string) => Buffer.from(`{"data":${text}}`, 'latin1');
const utf16 = (text: string) => Buffer.from(`{"data":${text}}`, 'utf16le');
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
    const error = await rejection(open(upstream.url).validatePurchase(CODE));
    expect(error).toMatchObject({ code: 'unexpected_response' });
    // Only the origin: the rest can repeat what was sent.
    expect(error.message).toContain(`redirected to ${other.url};`);
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
  ])('a response that %s larger than maxResponseBytes is refused', async (_how, answer) => {
    const upstream = await startUpstream(answer);
    await expectError(
      open(upstream.url, { maxResponseBytes: 100 }).getAccount(),
      'unexpected_response',
      'larger than 100 bytes; raise "maxResponseBytes"',
    );
  });

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['gzip, br', (bytes) => brotliCompressSync(gzipSync(bytes))],
    ['utf-8', (bytes) => bytes],
  ])(
    'a response that comes compressed, although it was asked for as it is, is read: %s',
    async (encoding, compress) => {
      const upstream = await startUpstream((_request, res) => {
        const body = compress(Buffer.from(JSON.stringify(success({ data: account }))));
        res.writeHead(200, { 'content-encoding': encoding }).end(body);
      });
      expect((await open(upstream.url).getAccount()).username).toBe('adanorth');
    },
  );

  it('a response that comes compressed is read, however high maxResponseBytes is', async () => {
    const upstream = await startUpstream(gzipped(JSON.stringify(success({ data: account }))));
    const limit = { maxResponseBytes: Number.MAX_SAFE_INTEGER };
    expect((await open(upstream.url, limit).getAccount()).username).toBe('adanorth');
  });

  it.each<[string, string, Buffer]>([
    ['compressed, and cut', 'gzip', gzipSync('{"status":"success"}').subarray(0, 15)],
    ['not compressed as it says', 'gzip', Buffer.from('{"status":"success"}')],
  ])('a response that is %s is no answer', async (_how, encoding, bytes) => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(200, { 'content-encoding': encoding }).end(bytes);
    });
    await expectError(open(upstream.url).getAccount(), 'unexpected_response', 'broken or cut');
  });

  const named = (charset: string) => `application/json; charset=${charset}`;
  const JSON_TYPE = 'application/json';
  it.each<[string, string, string | Buffer, string | RegExp]>([
    ['in UTF-8, whatever charset is named', named('iso-8859-1'), '{"username":"Zoë"}', 'Zoë'],
    ['in UTF-8, behind a byte order mark', JSON_TYPE, '\uFEFF\n {"username":"Zoë"}', 'Zoë'],
    ['in the charset that is named', named('iso-8859-1'), latin1('{"username":"Zoë"}'), 'Zoë'],
    ['in UTF-16, if it is named', named('"utf-16le"'), utf16('{"username":"Zoë"}'), 'Zoë'],
    ['in UTF-16, if it is not named', JSON_TYPE, utf16('{"username":"Zoe"}'), /not UTF-8/],
    ['in no charset that is named', JSON_TYPE, latin1('{"username":"Zoë"}'), /not UTF-8/],
    ['in none that is known', named('klingon'), latin1('{"username":"Zoë"}'), /not UTF-8/],
    ['in another one than is named', named('utf-8'), latin1('{"username":"Zoë"}'), /not UTF-8/],
    ['with text ahead', JSON_TYPE, 'Warning: x {"username":"Zoë"}', /text ahead of the JSON/],
    ['with a comment behind', JSON_TYPE, '{"username":"Zoë"}<!-- 3 ms -->', /text after the JSON/],
    ['with a digit behind', JSON_TYPE, '{"username":"Zoë"}0', /text after the JSON/],
    ['that was cut', JSON_TYPE, '{"username":"Zo', /broken or cut JSON/],
  ])(
    'the bytes of a response are read %s, or refused with that reason',
    async (_how, type, body, expected) => {
      const data = (text: string) => text.replace('{', '{"data":{').replace('}', '}}');
      const bytes = typeof body === 'string' ? Buffer.from(data(body)) : body;
      const upstream = await startUpstream((_request, res) => {
        res.writeHead(200, { 'content-type': type }).end(bytes);
      });
      const call = open(upstream.url).getAccount();
      if (typeof expected === 'string') expect((await call).username).toBe(expected);
      else await expectError(call, 'unexpected_response', expected);
    },
  );

  it.each<[string, string, string | RegExp]>([
    ['over 64 KiB', `x: ${'y'.repeat(70_000)}\r\n`, ''],
    ['that is no HTTP', 'no colon\r\n', 'not valid HTTP'],
    [
      'with a length, and chunked at once',
      'content-length: 2\r\ntransfer-encoding: chunked\r\n',
      'where it has a Content-Length and is chunked at once',
    ],
    [
      'that is chunked, and has a length at once',
      'transfer-encoding: chunked\r\ncontent-length: 2\r\n',
      'where it has a Content-Length and is chunked at once',
    ],
  ])('a head %s is no outage, because something answered', async (_how, head, says) => {
    const server = createServer((socket) => {
      socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n2\r\n{}\r\n0\r\n\r\n`));
    });
    const url = `http://127.0.0.1:${await portOf(server)}`;
    await expectError(open(url).getAccount(), 'unexpected_response', says);
  });

  it.each([
    ['100', 'Continue\r\n'],
    ['101', 'Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n'],
  ])('HTTP %s, for which nobody asked, is no outage either', async (status, head) => {
    const server = createServer((socket) => {
      socket.on('data', () => socket.write(`HTTP/1.1 ${status} ${head}\r\n`));
    });
    const url = `http://127.0.0.1:${await portOf(server)}`;
    await expectError(open(url).getAccount(), 'unexpected_response', 'HTTP 100 or 101');
  });

  const paused = { code: 'service_unavailable', retryAfter: 7 };
  it.each<[number, string, object, object]>([
    [429, 'is too large', paused, { maxResponseBytes: 999 }],
    [503, 'is too large', paused, { maxResponseBytes: 999 }],
    [429, 'never ends', paused, { timeout: 1000 }],
    [503, 'never ends', paused, { timeout: 1000 }],
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
  expect(error.code).toBe('unexpected_response');
  expect(error.message).toContain('the answer is not valid HTTP/1.1');
  expect(everythingOf(error)).not.toContain('secret-of-the-service');
});

describe('without a fetch', () => {
  it.each<[string, (undici: object) => object, boolean]>([
    [
      'undici is found in a bundle that has it at `default` only',
      (u) => ({ default: u, Agent: undefined }),
      false,
    ],
    [
      'fetch sends where the runtime has replaced undici, as Bun does',
      (u) => ({ ...u, Agent: class {} }),
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
    ['follows one to what says "not now"', { redirected: true, type: 'basic', status: 503 }],
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

  const coded = (code: string): Error => Object.assign(new Error('x'), { code });
  it.each<[string, unknown]>([
    ['a TypeError with a cause', new TypeError('fetch failed', { cause: new Error('x') })],
    ['what a browser says', new TypeError('Failed to fetch')],
    ['what Bun says', new Error('Unable to connect. Is the computer able to access the url?')],
    ['what Workers say', new Error('Network connection lost.')],
    ['its own timeout', new DOMException('late', 'TimeoutError')],
    ['an abort of its own', new DOMException('ended', 'AbortError')],
    ['a FetchError', Object.assign(new Error('x'), { name: 'FetchError' })],
    ["a system's code", coded('ECONNRESET')],
    ["undici's code, as the cause", new Error('x', { cause: coded('UND_ERR_SOCKET') })],
  ])('that fails with %s is a failure of the network', async (_what, error) => {
    const { code, cause } = await calling(throwing(error));
    expect([code, cause]).toEqual([
      'service_unavailable',
      expect.objectContaining({ kind: 'outage' }),
    ]);
  });

  it('that gives the Response of an error is a failure of the network', async () => {
    const { code } = await calling(async () => Response.error() as never);
    expect(code).toBe('service_unavailable');
  });

  const circle = Object.assign(new Error('x'), { cause: {} });
  circle.cause = { cause: circle };
  it.each<[string, unknown]>([
    ['a name that is not defined', new ReferenceError('notDefined is not defined')],
    ['a mistake of types', new TypeError("Cannot read properties of undefined (reading 'x')")],
    ['a dispatcher that was closed', new TypeError('x', { cause: coded('UND_ERR_CLOSED') })],
    ['a file that is missing', coded('ENOENT')],
    ['a code of the app', coded('E_QUOTA')],
    ['a circle', circle],
    ['text', 'no'],
    ['nothing', undefined],
  ])(
    'that fails with %s fails the call with that itself, and opens nothing',
    async (_what, error) => {
      const keyApi = keyApiOf(base, { fetch: throwing(error) });
      for (let n = 0; n < 7; n++) {
        const ended = await keyApi.getAccount().then(
          () => 'answered',
          (thrown) => ({ thrown }),
        );
        expect(ended).toEqual({ thrown: error });
        expect((ended as { thrown: unknown }).thrown).toBe(error);
      }
    },
  );

  it.each([undefined, null, {}, { status: 200 }, { status: 'ok', headers: new Headers() }, 7])(
    'that gives no Response (%j) is a TypeError that says so',
    async (given) => {
      const call = keyApiOf(base, { fetch: async () => given as never }).getAccount();
      await expect(call).rejects.toThrow(TypeError);
      await expect(call).rejects.toThrow('gave no Response');
    },
  );

  const body = JSON.stringify(success({ data: account }));
  it.each<[string, unknown]>([
    ['text', body],
    ['a Buffer', Buffer.from(body)],
    ['an ArrayBuffer', new TextEncoder().encode(body).buffer],
    ['a stream of text', [body.slice(0, 9), body.slice(9)]],
  ])('that gives a Response whose body is %s is read', async (_what, given) => {
    const response = { status: 200, headers: new Headers(), body: given };
    const keyApi = keyApiOf(base, { fetch: async () => response as never });
    expect((await keyApi.getAccount()).username).toBe('adanorth');
  });

  class OwnError extends Error {
    override name = 'OwnError';
  }
  it.each<[string, unknown]>([
    ['its message', new OwnError(`cannot fetch ${base}?api_key=${KEY}`)],
    ['its cause', new OwnError('failed', { cause: new Error(KEY) })],
    ['its code', Object.assign(new OwnError('failed'), { code: KEY.toUpperCase() })],
    ['a field', Object.assign(new OwnError('failed'), { config: { url: [`?api_key=${KEY}`] } })],
    ['no Error', { url: KEY }],
    ['text', `no ${KEY}`],
  ])('whose error shows a secret in %s has it replaced', async (what, error) => {
    const thrown: unknown = await keyApiOf(base, { fetch: throwing(error) })
      .getAccount()
      .catch((each: unknown) => each);
    expect(everythingOf(thrown).toLowerCase()).not.toContain(KEY);
    if (error instanceof OwnError) {
      expect(thrown).toBeInstanceOf(OwnError);
      expect(String(thrown)).toMatch(/^OwnError: (failed|cannot fetch .*\[redacted\])$/);
    } else expect(String(thrown)).toContain(what === 'text' ? 'no [redacted]' : 'was dropped');
  });
});

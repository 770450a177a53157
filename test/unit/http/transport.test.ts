import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import type { ClientOptions } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { everythingOf, expectError, rejection, throwing } from '../../support/errors.js';
import { portOf, refusing } from '../../support/listen.js';
import { ServiceInMemory, text } from '../../support/service-in-memory.js';
import { type Answerer, startUpstream } from '../../support/upstream.js';
import { account, CODE, KEY, purchase, success } from '../../support/wire.js';
import { answered, keyApiOf, loginApiOf } from './support.js';

const eventually = (check: () => void) => vi.waitFor(check, { interval: 2, timeout: 40_000 });

const endless: Answerer = (_request, res) => {
  const chunk = Buffer.alloc(16 * 1024, ' ');
  const more = (): void => {
    if (!res.destroyed) res.write(chunk, more);
  };
  more();
};
const BODY = JSON.stringify(success({ data: account }));
const encoded =
  (encoding: string, bytes: Buffer): Answerer =>
  (_request, res) =>
    res.writeHead(200, { 'content-encoding': encoding }).end(bytes);
/** A server that answers with these bytes, whatever comes. */
async function rawServer(bytes: string): Promise<string> {
  const server = createServer((socket) => socket.on('data', () => socket.write(bytes)));
  return `http://127.0.0.1:${await portOf(server)}`;
}

describe.each<[string, () => ClientOptions]>([
  ["the package's own connections", () => ({})],
  ['fetch', () => ({ fetch: globalThis.fetch })],
])('through %s', (_way, options) => {
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

  it.each([302, 308])('HTTP %d is refused, and not followed', async (status) => {
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
    ['is endless', endless],
    ['unpacks into one that is', encoded('gzip', gzipSync(Buffer.alloc(4_000_000, ' ')))],
  ])('a response that %s, larger than maxResponseBytes is refused', async (_how, answer) => {
    const upstream = await startUpstream(answer);
    await expectError(
      open(upstream.url, { maxResponseBytes: 10_000 }).getAccount(),
      'unexpected_response',
      'larger than 10000 bytes; raise "maxResponseBytes"',
    );
  });

  const paused = { code: 'service_unavailable', retryAfter: 7 };
  it.each<[number, string, object, object]>([
    [429, 'is too large', paused, { maxResponseBytes: 999 }],
    [503, 'never ends', paused, { timeout: 300 }],
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

describe('a response', () => {
  it.each<[string, string, Buffer]>([
    ['gzip', 'x-gzip', gzipSync(BODY)],
    ['the format of zlib', 'deflate', deflateSync(BODY)],
    ['deflate without the header of zlib', 'deflate', deflateRawSync(BODY)],
    ['several codings', 'gzip, br', brotliCompressSync(gzipSync(BODY))],
    ['what is no coding', 'utf-8', Buffer.from(BODY)],
  ])('in %s is read, although it was asked for as it is', async (_what, coding, bytes) => {
    const upstream = await startUpstream(encoded(coding, bytes));
    // More than zlib allows.
    const limit = { maxResponseBytes: Number.MAX_SAFE_INTEGER };
    expect((await keyApiOf(upstream.url, limit).getAccount()).username).toBe('adanorth');
  });

  it.each([
    ['cut', gzipSync(BODY).subarray(0, 15)],
    ['not compressed as it says', Buffer.from(BODY)],
  ])('that is %s is no answer', async (_how, bytes) => {
    const upstream = await startUpstream(encoded('gzip', bytes));
    const call = keyApiOf(upstream.url).getAccount();
    await expectError(call, 'unexpected_response', 'compressed, and broken or cut');
  });

  const named = (charset: string) => `application/json; charset=${charset}`;
  const JSON_TYPE = 'application/json';
  const ZOE = '{"data":{"username":"Zoë"}}';
  const utf16 = (body: string) => Buffer.from(body, 'utf16le').toString('latin1');
  const utf8 = (body: string) => Buffer.from(body).toString('latin1');
  it.each<[string, string, string, string | RegExp]>([
    ['in UTF-8, whatever charset is named', named('iso-8859-1'), utf8(ZOE), 'Zoë'],
    ['in UTF-8, behind a byte order mark', JSON_TYPE, utf8(`\uFEFF\n ${ZOE}`), 'Zoë'],
    ['in the charset that is named', named('iso-8859-1'), ZOE, 'Zoë'],
    ['in UTF-16, if it is named', named('"utf-16le"'), utf16(ZOE), 'Zoë'],
    ['in UTF-16, if it is not named', JSON_TYPE, utf16('{"x":1}'), /not UTF-8/],
    ['in no charset that is named', JSON_TYPE, ZOE, /not UTF-8/],
    ['in none that is known', named('klingon'), ZOE, /not UTF-8/],
    ['in another one than is named', named('utf-8'), ZOE, /not UTF-8/],
    ['with text ahead', JSON_TYPE, 'Warning: x {"x":1}', /text ahead of the JSON/],
    ['with a comment behind', JSON_TYPE, '{"x":1}<!-- 3 ms -->', /text after the JSON/],
    ['with JSON behind', JSON_TYPE, '{"x":1}{}', /a second JSON text/],
    ['that was cut', JSON_TYPE, '{"data":{', /broken or cut JSON/],
  ])('is read %s, or refused with that reason', async (_how, type, body, expected) => {
    const answer = text(Buffer.from(body, 'latin1'), 200, { 'content-type': type });
    const { fetch } = new ServiceInMemory(() => answer);
    const call = keyApiOf('https://market.example', { fetch }).getAccount();
    if (typeof expected === 'string') expect((await call).username).toBe(expected);
    else await expectError(call, 'unexpected_response', expected);
  });

  it.each<[string, string, string | RegExp]>([
    ['a head over 64 KiB', `200 OK\r\nx: ${'y'.repeat(70_000)}\r\n`, 'longer than 64 KiB'],
    ['a head that is no HTTP', '200 OK\r\nno colon\r\n', 'not valid HTTP'],
    [
      'a length, and chunked at once',
      '200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n',
      'where it has a Content-Length and is chunked at once',
    ],
    [
      'chunks, and a length at once',
      '200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n',
      'where it has a Content-Length and is chunked at once',
    ],
    ['HTTP 100', '100 Continue\r\n', 'HTTP 100 or 101'],
    ['HTTP 101', '101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\n', 'HTTP 100 or 101'],
  ])('with %s is no outage, because something answered', async (_what, head, says) => {
    const url = await rawServer(`HTTP/1.1 ${head}\r\n2\r\n{}\r\n0\r\n\r\n`);
    await expectError(keyApiOf(url).getAccount(), 'unexpected_response', says);
  });

  it('that is no HTTP is not repeated in the error', async () => {
    const url = await rawServer('SSH-2.0-OpenSSH\r\nsecret-of-the-service');
    const error = await rejection(keyApiOf(url).getAccount());
    expect(error.code).toBe('unexpected_response');
    expect(error.message).toContain('the answer is not valid HTTP/1.1');
    expect(everythingOf(error)).not.toContain('secret-of-the-service');
  });

  it('has a Retry-After date that is compared with its own date, because clocks differ', async () => {
    const [date, until] = [0, 30_000].map((ms) => new Date(1e12 + ms).toUTCString());
    const upstream = await startUpstream((_request, res) =>
      res.writeHead(503, { date, 'retry-after': until }).end(),
    );
    expect((await rejection(keyApiOf(upstream.url).getAccount())).retryAfter).toBe(30);
  });
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

  it('that ignores its signal is left at the deadline, also with its body', async () => {
    const stuck = new Response(new ReadableStream());
    for (const fetch of [() => new Promise<never>(() => {}), async () => stuck]) {
      const error = await calling(fetch, { timeout: 20 });
      expect(error.message).toContain('no answer within 20 ms');
    }
  });

  const coded = (code: string): Error => Object.assign(new Error('x'), { code });
  it.each<[string, unknown]>([
    ['a TypeError with a cause', new TypeError('x', { cause: new Error('x') })],
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
      expect.objectContaining({ kind: 'down' }),
    ]);
  });

  it.each([
    ['CERT_HAS_EXPIRED', 'the certificate has expired'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'the certificate is for another host'],
    ['CERT_REVOKED', 'the certificate cannot be verified'],
    ['ENOTFOUND', 'nobody knows the host name'],
  ])('that fails with %s says that %s', async (code, says) => {
    const error = new TypeError('fetch failed', { cause: coded(code) });
    expect((await calling(throwing(error))).message).toContain(says);
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
      for (let n = 0; n < 7; n++) await expect(keyApi.getAccount()).rejects.toBe(error);
    },
  );

  it.each([undefined, { status: 200 }, { status: 'ok', headers: new Headers() }])(
    'that gives no Response (%j) is a TypeError that says so',
    async (given) => {
      const call = keyApiOf(base, { fetch: async () => given as never }).getAccount();
      await expect(call).rejects.toThrow(TypeError);
      await expect(call).rejects.toThrow('gave no Response');
    },
  );

  it.each<[string, unknown]>([
    ['text', BODY],
    ['a Buffer', Buffer.from(BODY)],
    ['an ArrayBuffer', new TextEncoder().encode(BODY).buffer],
    ['a stream of text', [BODY.slice(0, 9), BODY.slice(9)]],
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

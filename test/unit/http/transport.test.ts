import { createServer } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import type { ClientOptions } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { everythingOf, expectError, rejection, throwing } from '../../support/errors.js';
import { portOf, refusing } from '../../support/listen.js';
import { ServiceInMemory, text } from '../../support/service-in-memory.js';
import { account, CODE, KEY, purchase, success } from '../../support/wire.js';
import { type Answerer, answered, keyApiOf, loginApiOf, startUpstream } from './support.js';

const eventually = (check: () => void) => vi.waitFor(check, { interval: 2, timeout: 40_000 });

const BODY = JSON.stringify(success({ data: account }));
const encoded =
  (encoding: string, bytes: Buffer): Answerer =>
  (_request, res) =>
    res.writeHead(200, { 'content-encoding': encoding }).end(bytes);

describe.each<[string, ClientOptions['fetch']]>([
  ["the package's own connections", undefined],
  ['fetch', globalThis.fetch],
])('through %s', (_way, fetch) => {
  const open = (url: string, others: object = {}) => keyApiOf(url, { fetch, ...others });

  it('a redirect is refused, and not followed', async () => {
    const other = await startUpstream(answered);
    let location = `${other.url}/api/purchases/validation`;
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(308, { location }).end();
    });
    const isRefused = (says: string) =>
      expectError(open(upstream.url).validatePurchase(CODE), 'unexpected_response', says);
    // Only the origin: the rest can repeat what was sent.
    await isRefused(`redirected to ${other.url};`);
    expect(upstream.requests).toMatchObject([{ body: `api_key=${KEY}&purchase_code=${CODE}` }]);
    expect(other.requests).toHaveLength(0);
    location = `https://${CODE}.example/`;
    await isRefused('redirected to https://[redacted].example;');
  });

  it('a response that is larger than maxResponseBytes, or endless, is refused', async () => {
    const upstream = await startUpstream((_request, res) => {
      const more = () => res.destroyed || res.write(' '.repeat(16_384), more);
      more();
    });
    const call = open(upstream.url, { maxResponseBytes: 10_000 }).getAccount();
    const says = 'larger than 10000 bytes; raise "maxResponseBytes"';
    await expectError(call, 'unexpected_response', says);
  });

  it('a connection that is cut before the headers, or in the body, is an outage', async () => {
    const upstream = await startUpstream((_request, res, n) => {
      if (n === 0) res.destroy();
      else res.writeHead(200, { 'content-length': '1000' }).write('{', () => res.destroy());
    });
    for (const says of ['connection was cut', /connection was cut|answer was cut off/]) {
      await expectError(open(upstream.url).getAccount(), 'service_unavailable', says);
    }
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

  it('the timeout ends a call whose response never comes, or trickles', async () => {
    for (const begin of ['', '{"status":']) {
      const upstream = await startUpstream((_request, res) => begin && res.write(begin));
      const call = open(upstream.url, { timeout: 60 }).getAccount();
      await expectError(call, 'service_unavailable', 'details: no answer within 60 ms');
    }
  });
});

it('a request names itself, asks for JSON uncompressed, and is not taken for a browser', async () => {
  const upstream = await startUpstream(answered);
  await keyApiOf(`${upstream.url}/shop/`).getAccount();
  const [request] = upstream.requests;
  expect(request?.path).toBe('/shop/api/account/details');
  expect(request?.headers).toMatchObject({
    accept: 'application/json',
    'accept-encoding': 'identity',
  });
  expect(request?.headers['user-agent']).toMatch(
    /^marketgate\/(?!.*(Mozilla|Chrome|Firefox|Edge|Opera))/i,
  );
});

it('no connection is an outage, and so is https to a port that speaks plain http', async () => {
  const url = await refusing();
  const says = `GET /api/account/details: the connection was refused (ECONNREFUSED); check that ${url} runs`;
  await expectError(keyApiOf(url).getAccount(), 'service_unavailable', says);
  const upstream = await startUpstream((_request, res) => res.end('{}'));
  const call = keyApiOf(upstream.url.replace('http:', 'https:')).getAccount();
  await expectError(call, 'service_unavailable', 'the port does not speak TLS');
});

it('close() ends calls in progress on the wire, and refuses later ones', async () => {
  const closed = vi.fn();
  const upstream = await startUpstream((_request, res) => res.on('close', closed));
  const [keyApi, loginApi] = [keyApiOf(upstream.url), loginApiOf(upstream.url)];
  const calls = [keyApi.validatePurchase(CODE), loginApi.exchange('auth-key-1')].map(rejection);
  await eventually(() => expect(upstream.requests).toHaveLength(2));
  await Promise.all([keyApi.close(), keyApi.close(), loginApi.close()]);
  await eventually(() => expect(closed).toHaveBeenCalledTimes(2));
  const later = [keyApi.getAccount(), loginApi.exchange('auth-key-2')].map(rejection);
  for (const error of await Promise.all([...calls, ...later])) {
    expect(error.code).toBe('service_unavailable');
    expect(error.message).toContain('this client was closed');
  }
  expect(upstream.requests).toHaveLength(2);
});

describe('a response', () => {
  const paused = { code: 'service_unavailable', retryAfter: 7 };
  it.each<[number, string, object, object]>([
    [429, 'is too large', paused, { maxResponseBytes: 999 }],
    [503, 'never ends', paused, { timeout: 300 }],
    [302, 'never ends', { code: 'unexpected_response' }, {}],
  ])('with HTTP %d counts although its body %s', async (status, how, expected, limit) => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(status, { 'retry-after': '7', location: '/' });
      res.write('x'.repeat(5000));
      if (how !== 'never ends') res.end();
    });
    const call = keyApiOf(upstream.url, limit).getAccount();
    expect(await rejection(call)).toMatchObject(expected);
  });

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
    ['is cut', gzipSync(BODY).subarray(0, 15), 'compressed, and broken or cut'],
    ['unpacks to too much', gzipSync(Buffer.alloc(4_000_000, ' ')), 'larger than 10000 bytes'],
  ])('in gzip that %s is no answer', async (_how, bytes, says) => {
    const upstream = await startUpstream(encoded('gzip', bytes));
    const call = keyApiOf(upstream.url, { maxResponseBytes: 10_000 }).getAccount();
    await expectError(call, 'unexpected_response', says);
  });

  const named = (charset: string) => `application/json; charset=${charset}`;
  const JSON_TYPE = 'application/json';
  const ZOE = '{"data":{"username":"Zoë"}}';
  const utf8 = (body: string) => Buffer.from(body).toString('latin1');
  it.each<[string, string, string, string | RegExp]>([
    ['in UTF-8, whatever charset is named', named('iso-8859-1'), utf8(ZOE), 'Zoë'],
    ['in UTF-8, behind a byte order mark', JSON_TYPE, utf8(`\uFEFF\n ${ZOE}`), 'Zoë'],
    ['in the charset that is named', named('iso-8859-1'), ZOE, 'Zoë'],
    ['in windows-1252, where none is named', JSON_TYPE, ZOE, 'Zoë'],
    ['in the charset that is named, and no other', named('utf-8'), ZOE, /not UTF-8/],
    ['with NULs, as in UTF-16', JSON_TYPE, `{\0"\0ë`, /not UTF-8/],
    ['with JSON behind', JSON_TYPE, '{"x":1}{}', /a second JSON text/],
    ['with text behind', JSON_TYPE, '{"x":1} x', /got text after the JSON/],
    ['with text ahead', JSON_TYPE, 'Notice: x {"x":1}', /got text ahead of the JSON/],
    ['cut', JSON_TYPE, '{"x":', /got broken or cut JSON/],
    ['as a part of a page', JSON_TYPE, '<p>x</p>', /got an HTML page/],
    ['as text', JSON_TYPE, 'x', /got text that is not JSON/],
    ['without a body', JSON_TYPE, '', /got an empty body/],
  ])('is read %s, or refused with that reason', async (_how, type, body, expected) => {
    const answer = text(Buffer.from(body, 'latin1'), 200, { 'content-type': type });
    const { fetch } = new ServiceInMemory(() => answer);
    const call = keyApiOf('https://market.example', { fetch }).getAccount();
    if (typeof expected === 'string') expect((await call).username).toBe(expected);
    else await expectError(call, 'unexpected_response', expected);
  });

  const chunked = 'transfer-encoding: chunked';
  it.each<[string, string, string]>([
    ['a head over 64 KiB', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}`, 'longer than 64 KiB'],
    ['a head that is no HTTP', 'SSH-2.0-OpenSSH\r\nsecret', 'not valid HTTP/1.1'],
    [
      'a length, and chunked',
      `HTTP/1.1 200 OK\r\ncontent-length: 2\r\n${chunked}`,
      'chunked at once',
    ],
    [
      'chunks, and a length',
      `HTTP/1.1 200 OK\r\n${chunked}\r\ncontent-length: 2`,
      'chunked at once',
    ],
    ['HTTP 101', 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x', 'HTTP 100 or 101'],
  ])('with %s is no outage, because something answered', async (_what, head, says) => {
    const bytes = `${head}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
    const server = createServer((socket) => socket.on('data', () => socket.write(bytes)));
    const url = `http://127.0.0.1:${await portOf(server)}`;
    const error = await rejection(keyApiOf(url).getAccount());
    expect(error.code).toBe('unexpected_response');
    expect(error.message).toContain(says);
    expect(everythingOf(error)).not.toContain('secret');
  });

  it('has a Retry-After date that is compared with its own date, because clocks differ', async () => {
    const [date, until] = [0, 30_000].map((ms) => new Date(1e12 + ms).toUTCString());
    const upstream = await startUpstream((_request, res) =>
      res.writeHead(503, { date, 'retry-after': until }).end(),
    );
    expect((await rejection(keyApiOf(upstream.url).getAccount())).retryAfter).toBe(30);
  });
});

it.each<[string, (undici: object) => object, number]>([
  ['undici, if only at `default` of a bundle', (u) => ({ default: u, Agent: undefined }), 0],
  ['fetch where the runtime has replaced undici', (u) => ({ ...u, Agent: class {} }), 1],
])('without a fetch, requests go through %s', async (_name, make, fetches) => {
  const undici = await vi.importActual<object>('undici');
  vi.doMock('undici', () => make(undici));
  onTestFinished(() => void vi.doUnmock('undici'));
  const fetched = vi.spyOn(globalThis, 'fetch');
  const upstream = await startUpstream(answered);
  expect((await keyApiOf(upstream.url).getAccount()).username).toBe('adanorth');
  expect(fetched).toHaveBeenCalledTimes(fetches);
});

describe('a fetch', () => {
  const base = 'https://market.example';
  const calling = (fetch: ClientOptions['fetch'], options: object = {}) =>
    keyApiOf(base, { fetch, ...options }).getAccount();
  const coded = (code: string): Error => Object.assign(new Error('x'), { code });
  const fetchFailed = (code: string) =>
    throwing(new TypeError('fetch failed', { cause: coded(code) }));

  it('gets the URL, and no redirect to follow', async () => {
    const fetch = vi.fn(async (_url: string, _init: RequestInit) =>
      Response.json(success({ data: { purchase } })),
    );
    const keyApi = keyApiOf(`${base}/shop`, { fetch, validationEncoding: 'query' });
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    const url = `${base}/shop/api/purchases/validation?api_key=${KEY}&purchase_code=${CODE}`;
    const init = { method: 'POST', redirect: 'manual', cache: 'no-store', body: null };
    expect(fetch.mock.calls).toEqual([[url, expect.objectContaining(init)]]);
  });

  it.each([
    ['follows a redirect all the same', { redirected: true, type: 'basic', status: 503 }],
    ['hides it, as browsers do', { redirected: false, type: 'opaqueredirect', status: 0 }],
  ])('that %s is refused', async (_name, response) => {
    const given = { headers: new Headers(), body: null, ...response } as Response;
    const call = calling(async () => given);
    await expectError(call, 'unexpected_response', 'redirected');
  });

  const once = new Response(BODY);
  void once.text();

  it('that ignores its signal is left at the deadline, also with its body', async () => {
    const stuck = new Response(new ReadableStream());
    for (const fetch of [() => new Promise<never>(() => {}), async () => stuck]) {
      const call = calling(fetch, { timeout: 20 });
      await expectError(call, 'service_unavailable', 'no answer within 20 ms');
    }
  });

  it.each<[string, ClientOptions['fetch'], string?]>([
    ['a TypeError with a cause', throwing(new TypeError('x', { cause: new Error('x') }))],
    ['what a browser says', throwing(new TypeError('Failed to fetch'))],
    [
      'what Bun says',
      throwing(new Error('Unable to connect. Is the computer able to access the url?')),
    ],
    ['what Workers say', throwing(new Error('Network connection lost.'))],
    ['a FetchError', throwing(Object.assign(new Error('x'), { name: 'FetchError' }))],
    ['its own timeout', throwing(new DOMException('late', 'TimeoutError'))],
    ['an abort of its own', throwing(new DOMException('ended', 'AbortError'))],
    ["a system's code", throwing(coded('ECONNRESET'))],
    ["undici's code, as the cause", throwing(new Error('x', { cause: coded('UND_ERR_SOCKET') }))],
    ['an expired certificate', fetchFailed('CERT_HAS_EXPIRED'), 'has expired'],
    [
      'a certificate of another host',
      fetchFailed('ERR_TLS_CERT_ALTNAME_INVALID'),
      'for another host',
    ],
    ['a code of its cause', throwing(new Error('x', { cause: coded('ENOTFOUND') })), 'host name'],
    ['Response.error()', async () => Response.error()],
  ])('that ends in %s is a failure of the network', async (_what, fetch, says = '') => {
    const error = await rejection(calling(fetch));
    expect(error).toMatchObject({ code: 'service_unavailable', cause: { kind: 'down' } });
    expect(error.message).toContain(says);
  });

  it.each<[code: string, kind: string, says: RegExp]>([
    ['EMFILE', 'own', /no file descriptor left/],
    ['ENOBUFS', 'own', /no memory left/],
    ['EADDRNOTAVAIL', 'own', /no port or address left/],
    ['EHOSTUNREACH', 'down', /no route to the host/],
    ['EAI_AGAIN', 'down', /cannot be looked up at the moment \(EAI_AGAIN\); look at the DNS/],
    ['ENOTFOUND', 'down', /nobody knows the host name .*; check the URL/],
    ['ETIMEDOUT', 'down', /the connection timed out .*; check that https:\/\/market\.example runs/],
    ['EPROTO', 'down', /does not speak TLS .*; check the URL and its port/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'down', /is self-signed .*NODE_EXTRA_CA_CERTS/],
    ['CERT_SIGNATURE_FAILURE', 'down', /cannot be verified .*NODE_EXTRA_CA_CERTS/],
    ['CERT_HAS_EXPIRED', 'down', /has expired .*; the service must renew it/],
    ['CERT_NOT_YET_VALID', 'down', /is not valid yet .*; check the clock/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'down', /an authority that is unknown here/],
    ['UND_ERR_REQ_CONTENT_LENGTH_MISMATCH', 'down', /the answer was cut off/],
    ['UND_ERR_INFO', 'down', /the request failed \(UND_ERR_INFO\)/],
  ])('that fails with the code %s is named, and what to do', async (code, kind, says) => {
    const error = await rejection(calling(fetchFailed(code)));
    expect(error).toMatchObject({ code: 'service_unavailable', cause: { kind, code } });
    expect(error.message).toMatch(says);
  });

  it.each<[string, unknown]>([
    ['a mistake of types', new TypeError("Cannot read properties of undefined (reading 'x')")],
    ['a dispatcher that was closed', new TypeError('x', { cause: coded('UND_ERR_CLOSED') })],
    ['a file that is missing', coded('ENOENT')],
    ['a code of the app', coded('E_QUOTA')],
    ['nothing', undefined],
  ])(
    'that fails with %s fails the call with that itself, and opens nothing',
    async (_what, error) => {
      const keyApi = keyApiOf(base, { fetch: throwing(error) });
      for (let n = 0; n < 7; n++) await expect(keyApi.getAccount()).rejects.toBe(error);
    },
  );

  it.each<[string, () => unknown]>([
    ['no Response', () => undefined],
    ['a Response without a body', () => ({ status: 200, headers: new Headers(), json() {} })],
    ['the same Response for each call', () => once],
  ])('that gives %s is a TypeError that says so', async (_what, give) => {
    const call = calling(async () => give() as never);
    const says = /^marketgate: .*"fetch" gave no Response that can be read; .*for each call/;
    await expect(call).rejects.toThrow(says);
  });

  it.each<[string, unknown]>([
    ['text', BODY],
    ['a Buffer', Buffer.from(BODY)],
    ['a stream of text', [BODY.slice(0, 9), BODY.slice(9)]],
  ])('that gives a Response whose body is %s is read', async (_what, body) => {
    const response = { status: 200, headers: new Headers(), body };
    expect((await calling(async () => response as never)).username).toBe('adanorth');
  });

  it.each<[string, unknown, string]>([
    ['an error', new RangeError(`no ${base}?api_key=${KEY}`), '[redacted]'],
    ['what is no error', { url: KEY }, 'was dropped'],
  ])('whose failure, %s, shows a secret has it replaced', async (_what, error, shown) => {
    const [end] = await Promise.allSettled([calling(throwing(error))]);
    const { reason } = end as PromiseRejectedResult;
    expect(everythingOf(reason)).not.toContain(KEY);
    expect(String(reason)).toContain(shown);
  });
});

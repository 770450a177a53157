import { createServer } from 'node:net';
import { KeyApi, LoginApi } from 'marketgate';
import { Agent, type Dispatcher, interceptors } from 'undici';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { everythingOf, rejection } from '../../support/errors.js';
import { json, page, startUpstream } from '../../support/upstream.js';
import { account, CODE, KEY, purchase, success } from '../../support/wire.js';

const open: KeyApi[] = [];
function client(baseUrl: string, options: object = {}): KeyApi {
  const keyApi = new KeyApi({ baseUrl, apiKey: KEY, retries: 0, cache: false, ...options });
  open.push(keyApi);
  return keyApi;
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((keyApi) => keyApi.close()));
});

describe('the request', () => {
  it('names itself, asks for JSON uncompressed, and is not taken for a browser', async () => {
    const upstream = await startUpstream((_req, res) => json(res, success({ data: account })));
    await client(upstream.url).getAccount();
    const headers = upstream.requests[0]?.headers;
    expect(headers?.['user-agent']).toMatch(/^marketgate\//);
    expect(headers?.['user-agent']).not.toMatch(/Mozilla|Chrome|Firefox|Edge|Opera/i);
    expect(headers?.accept).toBe('application/json');
    expect(headers?.['accept-encoding']).toBe('identity');
  });

  it('goes below the path of the URL that was configured', async () => {
    const upstream = await startUpstream((_req, res) => json(res, success({ data: account })));
    await client(`${upstream.url}/shop/`).getAccount();
    expect(upstream.requests[0]?.path).toBe('/shop/api/account/details');
  });

  it('reuses its connections', async () => {
    const upstream = await startUpstream((_req, res) => json(res, success({ data: account })));
    const keyApi = client(upstream.url);
    for (let i = 0; i < 12; i++) await keyApi.getAccount();
    // Two and not one: undici gives a socket a turn of the event loop before it is used again.
    expect(new Set(upstream.requests.map((request) => request.port)).size).toBeLessThanOrEqual(2);
  });

  it('goes through the dispatcher that was passed in, and leaves it open', async () => {
    const upstream = await startUpstream((_req, res) => json(res, success({ data: account })));
    const dispatcher = new Agent();
    onTestFinished(() => dispatcher.close());
    const keyApi = client(upstream.url, { dispatcher });
    await keyApi.getAccount();
    await keyApi.close();
    expect(dispatcher.closed).toBe(false);
  });

  it('is refused after close, without hanging', async () => {
    const upstream = await startUpstream((_req, res) => json(res, success({ data: account })));
    const keyApi = client(upstream.url);
    await keyApi.getAccount();
    await keyApi.close();
    await keyApi.close();
    expect(await rejection(keyApi.getAccount())).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('closed'),
    });
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('an answer that cannot be used', () => {
  it.each([301, 302, 303, 307, 308])('HTTP %d is not followed', async (status) => {
    const other = await startUpstream((_req, res) => json(res, success({ data: { purchase } })));
    const upstream = await startUpstream((_req, res) => {
      res.writeHead(status, { location: `${other.url}/api/purchases/validation` }).end();
    });
    const error = await rejection(client(upstream.url).validatePurchase(CODE));
    expect(error).toMatchObject({ code: 'unexpected_response', status: 502 });
    expect(other.requests).toHaveLength(0);
  });

  it.each<[string, (agent: Agent) => Dispatcher]>([
    [
      'with the redirect interceptor',
      (a) => a.compose(interceptors.redirect({ maxRedirections: 5 })),
    ],
    [
      'with it, under something that makes options of its own',
      (a) =>
        a.compose(
          interceptors.redirect({ maxRedirections: 5 }),
          (dispatch) => (options, handler) => {
            const { maxRedirections: _, ...others } = options as { maxRedirections?: number };
            return dispatch(others as Dispatcher.DispatchOptions, handler);
          },
        ),
    ],
    [
      'with a wish to follow in every request',
      (a) =>
        a.compose(
          interceptors.redirect(),
          (dispatch) => (options, handler) =>
            dispatch({ ...options, maxRedirections: 5 } as Dispatcher.DispatchOptions, handler),
        ),
    ],
  ])('a redirect is not followed by a dispatcher %s', async (_name, compose) => {
    for (const status of [301, 302, 303, 307, 308]) {
      const other = await startUpstream((_req, res) =>
        json(res, { ...success({ data: { ...account, purchase } }), access_token: 'stolen' }),
      );
      const upstream = await startUpstream((req, res) => {
        res.writeHead(status, { location: `${other.url}${req.path}?${req.query}` }).end();
      });
      const agent = new Agent();
      onTestFinished(() => agent.close());
      const dispatcher = compose(agent);
      const keyApi = client(upstream.url, { dispatcher });
      const loginApi = new LoginApi({
        authUrl: upstream.url,
        appId: 'app',
        appSecret: 'secret',
        dispatcher,
      });
      onTestFinished(() => loginApi.close());
      for (const call of [
        () => keyApi.getAccount(),
        () => keyApi.validatePurchase(CODE),
        () => loginApi.exchange('auth-key-1'),
        () => loginApi.getUser('a-token'),
      ]) {
        const error = await rejection(call());
        expect(error.code).toBe('unexpected_response');
        expect(error.message).toContain('redirected');
      }
      expect(other.requests).toEqual([]);
      expect(upstream.requests).toHaveLength(4);
    }
  });

  it('larger than allowed by its Content-Length', async () => {
    const upstream = await startUpstream((_req, res) => json(res, success({ data: account })));
    const error = await rejection(client(upstream.url, { maxResponseBytes: 100 }).getAccount());
    expect(error).toMatchObject({
      code: 'unexpected_response',
      message: expect.stringContaining('maxResponseBytes'),
    });
  });

  it('endless: cut off while it is read, and not after', async () => {
    let sent = 0;
    const upstream = await startUpstream((_req, res) => {
      const chunk = Buffer.alloc(16 * 1024, ' ');
      const more = (): void => {
        if (res.destroyed) return;
        sent += chunk.length;
        res.write(chunk, more);
      };
      more();
    });
    const error = await rejection(
      client(upstream.url, { maxResponseBytes: 64 * 1024 }).getAccount(),
    );
    expect(error.code).toBe('unexpected_response');
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  it('compressed although nobody asked for it', async () => {
    const upstream = await startUpstream((_req, res) =>
      json(res, success({ data: account }), 200, { 'content-encoding': 'gzip' }),
    );
    const error = await rejection(client(upstream.url).getAccount());
    expect(error).toMatchObject({
      code: 'unexpected_response',
      message: expect.stringContaining('compressed'),
    });
  });

  it('cut off in the middle', async () => {
    const upstream = await startUpstream((_req, res) => {
      res.writeHead(200, { 'content-length': '1000' });
      res.write('{"status":', () => res.destroy());
    });
    expect((await rejection(client(upstream.url).getAccount())).code).toBe('service_unavailable');
  });

  it.each([
    ['no HTTP at all', 'SSH-2.0-OpenSSH\r\n', 'Expected HTTP/'],
    [
      'lines that end in LF alone',
      'HTTP/1.1 200 OK\nContent-Length: 2\n\n{}',
      'Missing expected CR',
    ],
    ['a status that is none', 'HTTP/1.1 2x0 OK\r\n\r\n', 'Invalid status code'],
    ['a length that is none', 'HTTP/1.1 200 OK\r\nContent-Length: a\r\n\r\n', 'Content-Length'],
  ])('%s: the error says what is wrong, and not what was sent', async (_name, sent, says) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(`${sent}secret-of-the-service`));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const error = await rejection(client(`http://127.0.0.1:${port}`).getAccount());
    expect(error.code).toBe('service_unavailable');
    expect(error.message).toContain(`the answer is not valid HTTP/1.1 (`);
    expect(error.message).toContain(says);
    expect(everythingOf(error)).not.toMatch(/UNKNOWN|secret-of-the-service/);
  });

  it('no connection', async () => {
    const upstream = await startUpstream((_req, res) => res.end());
    await upstream.close();
    const error = await rejection(client(upstream.url).getAccount());
    expect(error).toMatchObject({
      code: 'service_unavailable',
      status: 503,
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('the deadline', () => {
  it('ends a call that is never answered', async () => {
    const upstream = await startUpstream(() => {});
    const error = await rejection(client(upstream.url, { timeout: 40 }).getAccount());
    expect(error).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('GET /api/account/details: no answer within 40 ms'),
    });
  });

  it('ends a body that trickles', async () => {
    const upstream = await startUpstream((_req, res) => {
      res.writeHead(200);
      res.write('{"status":');
    });
    const error = await rejection(client(upstream.url, { timeout: 80 }).getAccount());
    expect(error.code).toBe('service_unavailable');
  });

  it('does not keep the client from being used again', async () => {
    const upstream = await startUpstream((_req, res, n) => {
      if (n > 0) json(res, success({ data: account }));
    });
    const leaving = new AbortController();
    const keyApi = client(upstream.url);
    const left = keyApi.getAccount({ signal: leaving.signal });
    await vi.waitFor(() => expect(upstream.requests).toHaveLength(1), { interval: 2 });
    leaving.abort();
    await expect(left).rejects.toThrow(/abort/i);
    expect((await keyApi.getAccount()).username).toBe('adanorth');
  });
});

describe('the connection', () => {
  /** A service that never answers, and how many requests it has on its hands. */
  async function silent() {
    let waiting = 0;
    const upstream = await startUpstream((_req, res) => {
      waiting++;
      res.on('close', () => waiting--);
    });
    const reached = (n: number) => vi.waitFor(() => expect(waiting).toBe(n), { interval: 2 });
    return { upstream, reached };
  }

  it.each([
    ['without a cache', false],
    ['with a cache', {}],
  ])('ends when its last caller has left, not before: %s', async (_name, cache) => {
    const { upstream, reached } = await silent();
    const keyApi = client(upstream.url, { cache });
    const callers = [new AbortController(), new AbortController()];
    const calls = callers.map(({ signal }) =>
      keyApi.validatePurchase(CODE, { signal }).catch((error) => error.message),
    );
    const requests = cache ? 1 : 2;
    await reached(requests);
    callers[0]?.abort(new Error('left'));
    expect(await calls[0]).toBe('left');
    if (!cache) await reached(1);
    callers[1]?.abort(new Error('left too'));
    expect(await calls[1]).toBe('left too');
    await reached(0);
    expect(upstream.requests).toHaveLength(requests);
  });

  it('ends at close(), with its call', async () => {
    const { upstream, reached } = await silent();
    const keyApi = client(upstream.url, { cache: {} });
    const loginApi = new LoginApi({ authUrl: upstream.url, appId: 'a', appSecret: 's' });
    const calls = [
      keyApi.validatePurchase(CODE),
      keyApi.listItems(),
      loginApi.exchange('auth-key-1'),
      loginApi.getUser('a-token'),
    ].map(rejection);
    await reached(4);
    await Promise.all([keyApi.close(), loginApi.close()]);
    await reached(0);
    for (const call of calls) {
      expect(await call).toMatchObject({
        code: 'service_unavailable',
        message: expect.stringContaining('closed'),
      });
    }
  });
});

describe('AbortSignal', () => {
  it('ends the call with its own reason', async () => {
    const upstream = await startUpstream(() => {});
    const controller = new AbortController();
    const call = client(upstream.url).getAccount({ signal: controller.signal });
    const reason = new Error('the visitor left');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it('sends nothing when it is aborted already', async () => {
    const upstream = await startUpstream((_req, res) => json(res, success({ data: account })));
    const keyApi = client(upstream.url);
    await keyApi.getAccount();
    await expect(keyApi.getAccount({ signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
    expect(upstream.requests).toHaveLength(1);
  });

  it('ends the wait before a retry', async () => {
    const controller = new AbortController();
    const upstream = await startUpstream((_req, res) => {
      json(res, {}, 500);
      res.on('finish', () => controller.abort());
    });
    const call = client(upstream.url, { retries: 50 }).getAccount({ signal: controller.signal });
    await expect(call).rejects.toThrow(/abort/i);
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('retries', () => {
  it('repeat a read after an HTTP status that may pass', async () => {
    // Side by side, because each waits before its second try.
    const repeat = async (status: number) => {
      const upstream = await startUpstream((_req, res, n) =>
        n === 0 ? page(res, status) : json(res, success({ data: { purchase } })),
      );
      const found = await client(upstream.url, { retries: 1 }).validatePurchase(CODE);
      return [status, found?.purchase_code, upstream.requests.length];
    };
    const statuses = [500, 502, 503, 504, 408, 425];
    expect(await Promise.all(statuses.map(repeat))).toEqual(
      statuses.map((status) => [status, CODE, 2]),
    );
  });

  it('repeat a read after the connection was cut', async () => {
    const upstream = await startUpstream((_req, res, n) =>
      n === 0 ? res.destroy() : json(res, success({ data: account })),
    );
    await client(upstream.url, { retries: 1 }).getAccount();
    expect(upstream.requests).toHaveLength(2);
  });

  it.each([
    ['an HTML page with 200', 200, true],
    ['a refusal', 400, false],
    ['an HTML page with 404', 404, true],
  ])('do not repeat %s: the next try would be no better', async (_name, status, html) => {
    const upstream = await startUpstream((_req, res) =>
      html ? page(res, status) : json(res, { status: 'error', msg: 'Missing' }, status),
    );
    await rejection(client(upstream.url, { retries: 2 }).getAccount());
    expect(upstream.requests).toHaveLength(1);
  });

  it.each([
    ['HTTP 500', (res: import('node:http').ServerResponse) => page(res, 500)],
    ['a cut connection', (res: import('node:http').ServerResponse) => res.destroy()],
  ])('never repeat the exchange of an auth_key: %s', async (_name, answer) => {
    const upstream = await startUpstream((_req, res) => answer(res));
    const loginApi = new LoginApi({
      authUrl: upstream.url,
      appId: 'app',
      appSecret: 'secret',
      retries: 5,
    });
    onTestFinished(() => loginApi.close());
    expect((await rejection(loginApi.exchange('key-1'))).code).toBe('service_unavailable');
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('a service that asks to be left alone', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');

  it.each([
    ['seconds', '30'],
    ['a date', 'Thu, 01 Jan 2026 00:00:30 GMT'],
  ])('429 with Retry-After in %s pauses the client', async (_name, header) => {
    let clock = now;
    const upstream = await startUpstream((_req, res, n) =>
      n === 0 ? page(res, 429, { 'retry-after': header }) : json(res, success({ data: account })),
    );
    const keyApi = client(upstream.url, { retries: 3, clock: () => clock });
    expect(await rejection(keyApi.getAccount())).toMatchObject({
      code: 'service_unavailable',
      retryAfter: 30,
    });
    clock += 10_000;
    expect(await rejection(keyApi.validatePurchase(CODE))).toMatchObject({
      code: 'service_unavailable',
      retryAfter: 20,
    });
    expect(upstream.requests).toHaveLength(1);
    clock += 20_000;
    expect((await keyApi.getAccount()).username).toBe('adanorth');
  });

  it.each([
    ['an hour', 3_600_000],
    ['a year', 365 * 24 * 3_600_000],
  ])('is left alone no longer when the clock is set back by %s', async (_name, step) => {
    let clock = now;
    const upstream = await startUpstream((_req, res, n) =>
      n === 0 ? page(res, 429, { 'retry-after': '60' }) : json(res, success({ data: account })),
    );
    const keyApi = client(upstream.url, { clock: () => clock });
    await rejection(keyApi.getAccount());
    clock += 20_000;
    clock -= step;
    expect((await rejection(keyApi.getAccount())).retryAfter).toBeLessThanOrEqual(60);
    clock += 60_000;
    expect((await keyApi.getAccount()).username).toBe('adanorth');
  });

  it('429 that does not say how long pauses for a little', async () => {
    const upstream = await startUpstream((_req, res) => page(res, 429));
    const keyApi = client(upstream.url, { clock: () => now });
    expect((await rejection(keyApi.getAccount())).retryAfter).toBe(5);
    await rejection(keyApi.getAccount());
    expect(upstream.requests).toHaveLength(1);
  });

  it('503 with Retry-After pauses too, and is not repeated before', async () => {
    const upstream = await startUpstream((_req, res) => page(res, 503, { 'retry-after': '60' }));
    const keyApi = client(upstream.url, { retries: 3, clock: () => now });
    expect((await rejection(keyApi.getAccount())).retryAfter).toBe(60);
    expect(upstream.requests).toHaveLength(1);
  });

  it('no header can pause it for longer than an hour', async () => {
    const upstream = await startUpstream((_req, res) =>
      page(res, 429, { 'retry-after': '999999999' }),
    );
    expect((await rejection(client(upstream.url).getAccount())).retryAfter).toBe(3600);
  });
});

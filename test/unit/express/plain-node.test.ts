import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  errorHandler,
  fromQuery,
  loadItem,
  loadPurchase,
  MarketgateError,
  type MarketplaceContext,
  type Middleware,
  purchaseOf,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { allowNoUnhandledRejection } from '../../support/hear.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { listen } from '../../support/listen.js';
import { CODE, guess, purchase } from '../../support/wire.js';

// Connect, Fastify's middie, polka, Koa through koa-connect: what all of them have is Node's own request
// and response, and a `next`. So these run on nothing but that.

const BROWSER = { accept: 'text/html,*/*;q=0.8' };

type Handler = (req: IncomingMessage, res: ServerResponse) => void;
const answer: Handler = (req, res) => {
  const { verdict } = (req as { marketplace?: MarketplaceContext }).marketplace ?? {};
  res.end(JSON.stringify({ verdict }));
};

allowNoUnhandledRejection();

/** A bare server: the middleware, then the handler, and `errorHandler` for what goes wrong. */
async function serve(guard: Middleware, handler: Handler = answer) {
  const onError = errorHandler({ log: false });
  const origin = await listen((req, res) => {
    guard(req, res, (error) => {
      if (error === undefined) handler(req, res);
      else onError(error, req, res, () => void res.writeHead(500).end('not handled'));
    });
  });
  return (headers: Record<string, string> = {}, path = '/') =>
    fetch(`${origin}${path}`, { headers, redirect: 'manual' });
}

describe('without Express', () => {
  it('requirePurchase lets a customer in and refuses others, as a problem or a page', async () => {
    const { keyApi } = keyApiOn();
    const visit = await serve(requirePurchase(keyApi, { item: 1042 }), (req, res) =>
      res.end(String(purchaseOf(req).item.id)),
    );
    const customer = await visit({ 'x-purchase-code': CODE });
    expect([customer.status, await customer.text()]).toEqual([200, '1042']);
    const refused = await visit();
    expect(refused.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(await refused.json()).toMatchObject({ code: 'purchase_required', status: 402 });
    const page = await visit(BROWSER);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await page.text()).toContain('Please enter your purchase code');
  });

  it('loadPurchase reads the query of the URL, where there is no parser or it is no object', async () => {
    const byQuery = loadPurchase(keyApiOn().keyApi, { code: fromQuery() });
    // Express without a query parser has an empty one, and restify a function.
    for (const query of [undefined, {}, () => 'purchase_code=x']) {
      const visit = await serve((req, res, next) =>
        byQuery(Object.assign(req, query && { query }), res, next),
      );
      expect(await (await visit({}, `/?purchase_code=${CODE}`)).json()).toEqual({
        verdict: 'valid',
      });
    }
  });

  it('loadItem knows no id, because there is no router', async () => {
    expect((await (await serve(loadItem(keyApiOn().keyApi)))()).status).toBe(400);
  });

  it('requireLogin sends a browser to the login, and remembers the page', async () => {
    const visit = await serve(requireLogin({ loginPath: '/für%20alle' }));
    const redirect = await visit(BROWSER, '/account?tab=2');
    // A header holds ASCII only.
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, '/f%C3%BCr%20alle']);
    const cookie = redirect.headers.get('set-cookie');
    expect(cookie).toContain('marketgate.return_to=%2Faccount%3Ftab%3D2');
    expect((await visit({}, '/account')).status).toBe(401);
  });

  it('the response of a WebSocket upgrade, which has headers and nothing else, is enough', async () => {
    const headers: Record<string, unknown> = {};
    const res = {
      getHeader: (name: string) => headers[name],
      setHeader: (name: string, value: unknown) => void Object.assign(headers, { [name]: value }),
    };
    const keyApi = { validatePurchase: async (code: string) => (code === CODE ? purchase : null) };
    const guard = requirePurchase(keyApi as never);
    const upgrade = (code: string) =>
      new Promise((resolve) => {
        const req = { headers: { 'x-purchase-code': code }, socket: {}, url: '/socket.io/' };
        guard(req as never, res as never, resolve);
      });
    expect(await upgrade(CODE)).toBeUndefined();
    expect(headers).toEqual({ 'Cache-Control': 'private', Vary: 'X-Purchase-Code' });
    expect(await upgrade(guess(1))).toMatchObject({ code: 'purchase_code_invalid' });
  });
});

describe('what `next` throws', () => {
  const thrown = new Error('of the handler');
  const failed = new MarketgateError('service_unavailable', 'down');
  const respond = errorHandler({ log: false, render: () => Promise.reject(new Error('x')) });
  const keyApi = { validatePurchase: async () => purchase } as never;
  const guards: Record<string, Middleware> = {
    'a guard': requirePurchase(keyApi, { code: () => CODE }),
    'an error page': (req, res, next) => respond(failed, req, res, next),
  };

  async function visit(guard: Middleware, before: Handler) {
    const next = vi.fn();
    const origin = await listen((req, res) => {
      guard(req, res, (error) => {
        next(error);
        before(req, res);
        throw thrown;
      });
    });
    const response = await fetch(origin, { headers: BROWSER });
    expect(next).toHaveBeenCalledTimes(1);
    return [response.status, await response.text()];
  }

  it.each(Object.entries(guards))(
    'behind %s is a plain 500, and is logged',
    async (_name, guard) => {
      const before: Handler = (_req, res) => void res.setHeader('Content-Length', '10000');
      expect(await visit(guard, before)).toEqual([500, 'Internal Server Error']);
      expect(console.error).toHaveBeenCalledExactlyOnceWith(thrown);
    },
  );

  const guard = guards['a guard'] as Middleware;

  it('changes no response that was sent, and cuts off one that was begun', async () => {
    // So long that its end is still being sent.
    const long = 'sent'.repeat(2_000_000);
    const sent: Handler = (_req, res) => void res.writeHead(200).end(long);
    expect(await visit(guard, sent)).toEqual([200, long]);
    await expect(visit(guard, (_req, res) => void res.write('begun'))).rejects.toThrow();
  });

  it('goes to `req.next` of Express', async () => {
    const answered = await visit(guard, (req, res) => {
      Object.assign(req, { next: (error: Error) => res.end(error.message) });
    });
    expect(answered[1]).toBe('of the handler');
    expect(console.error).not.toHaveBeenCalled();
  });
});

it('a session that rejects with nothing opens no route', async () => {
  const login = requireLogin({ loginPath: '/login' });
  const session = { save: () => Promise.reject(undefined) };
  const visit = await serve(
    (req, res, next) => login(Object.assign(req, { session }), res, next),
    (_req, res) => res.end('in'),
  );
  expect((await visit(BROWSER)).status).toBe(503);
});

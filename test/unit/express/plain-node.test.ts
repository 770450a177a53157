import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  errorHandler,
  fromQuery,
  loadItem,
  loadItems,
  loadPurchase,
  type MarketplaceContext,
  MemoryTokenStore,
  type Middleware,
  purchaseOf,
  requireAccessToken,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import { describe, expect, it } from 'vitest';
import { listen } from '../../support/listen.js';
import { openShop } from '../../support/shop.js';
import { CODE, guess, purchase } from '../../support/wire.js';

// Connect, Fastify's middie, polka, Koa through koa-connect: what all of them have is Node's own request
// and response, and a `next`. So these run on nothing but that.

const BROWSER = { accept: 'text/html,*/*;q=0.8' };

type Handler = (req: IncomingMessage, res: ServerResponse) => void;
const answer: Handler = (req, res) => {
  const { verdict, denial } = (req as { marketplace?: MarketplaceContext }).marketplace ?? {};
  res.end(JSON.stringify({ verdict, denial: denial?.code }));
};

/** A bare server: the middleware, then the handler, and `errorHandler` for what goes wrong. */
async function serve(guard: Middleware, handler: Handler = answer, options = {}) {
  const onError = errorHandler({ log: false, ...options });
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
    const { keyApi, code } = await openShop();
    const visit = await serve(requirePurchase(keyApi, { item: 1042 }), (req, res) =>
      res.end(String(purchaseOf(req).item.id)),
    );
    const customer = await visit({ 'x-purchase-code': code('supported') });
    expect([customer.status, await customer.text()]).toEqual([200, '1042']);
    expect(customer.headers.get('cache-control')).toBe('private');
    expect(customer.headers.get('vary')).toBe('X-Purchase-Code');

    const refused = await visit({ 'x-purchase-code': code('other-item') });
    expect(refused.status).toBe(403);
    expect(refused.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    expect(await refused.json()).toMatchObject({ code: 'purchase_item_mismatch', status: 403 });

    const page = await visit(BROWSER);
    expect(page.status).toBe(402);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await page.text()).toContain('Please enter your purchase code');
  });

  it('loadPurchase and the loaders put what they find at req.marketplace', async () => {
    const { keyApi, code } = await openShop();
    const byQuery = await serve(loadPurchase(keyApi, { code: fromQuery() }));
    const found = await byQuery({}, `/?purchase_code=${code('supported')}`);
    expect(await found.json()).toEqual({ verdict: 'valid' });
    expect(await (await byQuery()).json()).toEqual({
      verdict: 'absent',
      denial: 'purchase_required',
    });
    const visitItems = await serve(loadItems(keyApi), (req, res) => {
      res.end(String((req as { marketplace?: MarketplaceContext }).marketplace?.items?.length));
    });
    expect(Number(await (await visitItems()).text())).toBeGreaterThan(10);
    // There is no router that would know an id.
    expect((await (await serve(loadItem(keyApi)))()).status).toBe(400);
  });

  it('requireLogin and requireAccessToken send a browser to the login, and remember the page', async () => {
    const tokenStore = new MemoryTokenStore();
    const loginPath = '/login';
    for (const guard of [
      requireLogin({ loginPath }),
      requireAccessToken({ tokenStore, loginPath }),
    ]) {
      const visit = await serve(guard);
      const redirect = await visit(BROWSER, '/account?tab=2');
      expect([redirect.status, redirect.headers.get('location')]).toEqual([302, '/login']);
      expect(redirect.headers.get('set-cookie')).toContain(
        'marketgate.return_to=%2Faccount%3Ftab%3D2',
      );
      expect((await visit({}, '/account')).status).toBe(401);
      expect((await visit(BROWSER, '/login')).status).toBe(401);
    }
  });

  it('a login path of other letters is sent as a header can hold it', async () => {
    const visit = await serve(requireLogin({ loginPath: '/anmelden/für%20alle' }));
    expect((await visit(BROWSER)).headers.get('location')).toBe('/anmelden/f%C3%BCr%20alle');
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

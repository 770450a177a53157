import {
  errorHandler,
  MarketgateError,
  type Middleware,
  purchaseOf,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import { expect, it, vi } from 'vitest';
import { throwing } from '../../support/errors.js';
import { allowNoUnhandledRejection } from '../../support/hear.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { listen } from '../../support/listen.js';
import { CODE } from '../../support/wire.js';

// Connect, Fastify's middie, polka, Koa through koa-connect: what all of them have is Node's own request
// and response, and a `next`. So these run on nothing but that.

const BROWSER = { accept: 'text/html,*/*;q=0.8' };

allowNoUnhandledRejection();

it('without Express, requirePurchase lets a customer in, and errorHandler refuses others, with a problem or a page', async () => {
  const guard = requirePurchase(keyApiOn().keyApi, { item: 1042 });
  const onError = errorHandler({ log: false });
  const origin = await listen((req, res) => {
    guard(req, res, (error) => {
      if (error === undefined) res.end(String(purchaseOf(req).item.id));
      else onError(error, req, res, () => void res.writeHead(500).end('not handled'));
    });
  });
  const customer = await fetch(origin, { headers: { 'x-purchase-code': CODE } });
  expect([customer.status, await customer.text()]).toEqual([200, '1042']);
  const refused = await fetch(origin);
  expect(refused.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  expect(await refused.json()).toMatchObject({ code: 'purchase_required', status: 402 });
  const page = await fetch(origin, { headers: BROWSER });
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await page.text()).toContain('Please enter your purchase code');
});

it('the response of a WebSocket upgrade, which has headers and nothing else, is enough', async () => {
  const headers: Record<string, unknown> = {};
  const res = {
    getHeader: (name: string) => headers[name],
    setHeader: (name: string, value: unknown) => void Object.assign(headers, { [name]: value }),
  };
  const req = { headers: { 'x-purchase-code': CODE }, socket: {}, url: '/socket.io/' };
  const guard = requirePurchase(keyApiOn().keyApi);
  const error = await new Promise((next) => guard(req as never, res as never, next));
  expect(error).toBeUndefined();
  expect(headers).toMatchObject({ 'Cache-Control': 'private', Vary: 'X-Purchase-Code' });
});

it.each([
  ['a customer', CODE, undefined],
  ['a visitor without a code', undefined, 'purchase_required'],
])(
  'an empty response, as io.use((socket, next) => guard(socket.request, {}, next)) passes, is enough for %s',
  async (_who, sent, code) => {
    const guard = requirePurchase(keyApiOn().keyApi);
    const req = { headers: { 'x-purchase-code': sent }, socket: {}, url: '/socket.io/' };
    const error = await new Promise((next) => guard(req as never, {} as never, next));
    expect((error as MarketgateError | undefined)?.code).toBe(code);
  },
);

const failed = new MarketgateError('service_unavailable', 'down');
const respond = errorHandler({ log: false, render: () => Promise.reject(new Error('x')) });
it.each<[string, Middleware]>([
  ['a guard', requireLogin()],
  ['an error page', (req, res, next) => respond(failed, req, res, next)],
])('what `next` throws behind %s is a plain 500, and is logged', async (_name, use) => {
  const thrown = new Error('of the handler');
  const next = vi.fn(throwing(thrown));
  const origin = await listen((req, res) => {
    res.setHeader('Content-Length', '10000');
    use(req, res, next);
  });
  const response = await fetch(origin, { headers: BROWSER });
  expect([response.status, await response.text()]).toEqual([500, 'Internal Server Error']);
  expect(next).toHaveBeenCalledTimes(1);
  expect(console.error).toHaveBeenCalledExactlyOnceWith(thrown);
});

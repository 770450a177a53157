import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  errorHandler,
  loadItems,
  loadPurchase,
  MarketgateError,
  MemoryTokenStore,
  type Middleware,
  requireAccessToken,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { allowNoUnhandledRejection } from '../../support/hear.js';
import { listen } from '../../support/listen.js';
import { CODE, purchase } from '../../support/wire.js';

// On Node alone, what a handler throws comes out of `next`. Express catches it there.

const thrown = new Error('of the handler');

allowNoUnhandledRejection();

async function serve(use: Middleware, handler: (res: ServerResponse) => void = () => {}) {
  const next = vi.fn();
  const origin = await listen((req, res) => {
    use(req, res, (error) => {
      next(error);
      handler(res);
      throw thrown;
    });
  });
  const visit = (headers: Record<string, string> = {}) =>
    fetch(origin, { headers: { 'x-purchase-code': CODE, ...headers }, redirect: 'manual' });
  return { visit, next };
}

const validatePurchase = async (code: string) => (code === CODE ? purchase : null);
const keyApi = { validatePurchase } as never;
const cached = { validatePurchase, peekPurchase: () => purchase, clock: Date.now } as never;
const throwing = () => {
  throw new Error('of the source');
};
const user = { id: '77' };
const outage = { validatePurchase: () => Promise.reject(new Error('down')) } as never;

async function loggedIn() {
  const tokenStore = new MemoryTokenStore();
  await tokenStore.set('77', { value: 't', issuedAt: 0, expiresAt: Date.now() + 60_000 });
  const guard = requireAccessToken({ tokenStore });
  return (req: IncomingMessage, res: ServerResponse, next: () => void) =>
    guard(Object.assign(req, { user }), res, next);
}

const unsaved = { save: (done: (error: Error) => void) => done(new Error('full')) };
const login = requireLogin();
const failed = new MarketgateError('service_unavailable', 'down');
const render = () => Promise.reject(new Error('of the page'));
const respond = errorHandler({ log: false, render });

const MIDDLEWARE: [string, () => Middleware | Promise<Middleware>][] = [
  ['requirePurchase', () => requirePurchase(keyApi)],
  ['requirePurchase in an outage', () => requirePurchase(outage)],
  ['requirePurchase with a cached answer', () => requirePurchase(cached)],
  ['a refusal', () => requirePurchase(keyApi, { licenseType: 'none' })],
  ['a refusal without a code', () => requirePurchase(keyApi, { code: () => undefined })],
  ['a code that cannot be read', () => requirePurchase(keyApi, { code: throwing })],
  [
    'onDenied',
    () =>
      requirePurchase(keyApi, {
        licenseType: 'none',
        onDenied: (denial, _req, _res, next) => next(denial),
      }),
  ],
  ['loadPurchase', () => loadPurchase(keyApi)],
  ['loadItems', () => loadItems({ listItems: async () => [] })],
  ['loadItems in an outage', () => loadItems({ listItems: () => Promise.reject(thrown) })],
  ['requireLogin', () => (req, res, next) => login(Object.assign(req, { user }), res, next)],
  [
    'requireLogin without a user',
    () => (req, res, next) => {
      delete req.headers.accept;
      login(req, res, next);
    },
  ],
  ['requireAccessToken', loggedIn],
  [
    'requireAccessToken without a user',
    () => requireAccessToken({ tokenStore: new MemoryTokenStore() }),
  ],
  [
    'a session that cannot be saved',
    () => (req, res, next) => login(Object.assign(req, { session: unsaved }), res, next),
  ],
  ['an error page', () => (req, res, next) => respond(failed, req, res, next)],
];

describe.each(MIDDLEWARE)('what `next` throws behind %s', (name, make) => {
  const headers = { accept: name.startsWith('requireAccess') ? '*/*' : 'text/html' };

  it('is a plain 500, and `next` is called once', async () => {
    const { visit, next } = await serve(await make(), (res) => {
      if (!res.headersSent) res.setHeader('Content-Length', '10000');
    });
    const response = await visit(headers);
    expect([response.status, await response.text()]).toEqual([500, 'Internal Server Error']);
    expect(next).toHaveBeenCalledTimes(1);
    expect(console.error).toHaveBeenCalledExactlyOnceWith(thrown);
  });

  it('changes no response that was sent', async () => {
    const { visit } = await serve(await make(), (res) => {
      res.statusCode = 200;
      res.end('sent');
    });
    expect(await (await visit(headers)).text()).toBe('sent');
  });

  it('cuts off a response that was begun', async () => {
    const { visit } = await serve(await make(), (res) => res.write('begun'));
    await expect(visit(headers).then((response) => response.text())).rejects.toThrow();
  });

  it('goes to `req.next` of Express', async () => {
    const handled = vi.fn();
    const use = await make();
    const { visit } = await serve((req, res, next) => {
      const atExpress = (error: unknown) => {
        handled(error);
        res.end('handled');
      };
      use(Object.assign(req, { next: atExpress }), res, next);
    });
    expect(await (await visit(headers)).text()).toBe('handled');
    expect(handled).toHaveBeenCalledExactlyOnceWith(thrown);
    expect(console.error).not.toHaveBeenCalled();
  });
});

it('a session that rejects with nothing opens no route', async () => {
  const session = { save: () => Promise.reject(undefined) };
  const next = vi.fn();
  const origin = await listen((req, res) => {
    login(Object.assign(req, { session }), res, (error) => {
      next(error);
      res.end();
    });
  });
  await fetch(origin, { headers: { accept: 'text/html' } });
  expect(next).toHaveBeenCalledExactlyOnceWith(expect.any(TypeError));
});

import type { ServerResponse } from 'node:http';
import {
  errorHandler,
  loadItems,
  MarketgateError,
  type Middleware,
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
const failed = new MarketgateError('service_unavailable', 'down');
const unsaved = { save: (done: (error: Error) => void) => done(new Error('full')) };
const login = requireLogin({ loginPath: '/login' });
const respond = errorHandler({ log: false, render: () => Promise.reject(new Error('x')) });

const MIDDLEWARE: [string, Middleware][] = [
  ['a guard that lets in', requirePurchase(keyApi)],
  ['a guard that refuses', requirePurchase(keyApi, { code: () => undefined })],
  [
    'onDenied',
    requirePurchase(keyApi, {
      licenseType: 'none',
      onDenied: (denial, _req, _res, next) => next(denial),
    }),
  ],
  ['a loader', loadItems({ listItems: async () => [] })],
  [
    'a session that cannot be saved',
    (req, res, next) => login(Object.assign(req, { session: unsaved }), res, next),
  ],
  ['an error page', (req, res, next) => respond(failed, req, res, next)],
];

describe.each(MIDDLEWARE)('what `next` throws behind %s', (_name, use) => {
  const headers = { accept: 'text/html' };

  it('is a plain 500, and `next` is called once', async () => {
    const { visit, next } = await serve(use, (res) => {
      if (!res.headersSent) res.setHeader('Content-Length', '10000');
    });
    const response = await visit(headers);
    expect([response.status, await response.text()]).toEqual([500, 'Internal Server Error']);
    expect(next).toHaveBeenCalledTimes(1);
    expect(console.error).toHaveBeenCalledExactlyOnceWith(thrown);
  });

  it('changes no response that was sent', async () => {
    const { visit } = await serve(use, (res) => {
      res.statusCode = 200;
      res.end('sent');
    });
    expect(await (await visit(headers)).text()).toBe('sent');
  });

  it('cuts off a response that was begun', async () => {
    const { visit } = await serve(use, (res) => res.write('begun'));
    await expect(visit(headers).then((response) => response.text())).rejects.toThrow();
  });

  it('goes to `req.next` of Express', async () => {
    const handled = vi.fn();
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

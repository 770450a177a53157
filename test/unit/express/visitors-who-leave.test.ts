import { get } from 'node:http';
import express, { type ErrorRequestHandler } from 'express';
import { errorHandler, loadItems, requirePurchase } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { ITEMS, KeyApiService, settle, VALIDATION } from '../../support/key-api-service.js';
import { listen } from '../../support/listen.js';
import { CODE, guess } from '../../support/wire.js';

const SOON = { timeout: 40_000, interval: 5 };

/** A shop before a service in memory, and visitors who can hang up. */
async function openShop(make: typeof express = express, limit = 3) {
  const service = new KeyApiService();
  const keyApi = service.client();
  // The check of the api_key is remembered.
  await keyApi.getAccount();
  /** Listens, and gives what visits it. */
  async function open(mount: (app: express.Express) => void) {
    const app = make();
    mount(app);
    const origin = await listen(app);
    /** Asks, and gives the status, or what hangs up. */
    return (path: string, code?: string) => {
      const headers = code === undefined ? {} : { 'x-purchase-code': code };
      const request = get(`${origin}${path}`, { headers, agent: false });
      const status = new Promise<number | undefined>((resolve) => {
        request.once('response', (res) => resolve(res.resume().statusCode));
        request.once('error', () => resolve(undefined));
      });
      return { status, leave: () => request.destroy() };
    };
  }
  const visit = await open((app) => {
    app.get('/guarded', requirePurchase(keyApi, { guessLimit: { limit } }), (_req, res) => {
      res.json({ ok: true });
    });
    app.get('/items', loadItems(keyApi), (req, res) => void res.json(req.marketplace?.items));
    app.use(errorHandler({ log: false }));
  });
  /** Leaves as soon as the service has been asked. */
  async function askAndLeave(path: string, code?: string): Promise<void> {
    const before = service.dispatcher.requests.length;
    const { leave } = visit(path, code);
    await vi.waitFor(() => expect(service.dispatcher.requests).toHaveLength(before + 1), SOON);
    const request = service.dispatcher.requests[before];
    expect(request?.isAborted).toBe(false);
    leave();
    await vi.waitFor(() => expect(request?.isAborted).toBe(true), SOON);
  }
  return { service, keyApi, open, visit, askAndLeave };
}

describe.each(expressVersions)('a visitor who leaves, on %s', (_name, make) => {
  it.each([
    ['/guarded', CODE],
    ['/items', undefined],
  ])('ends the request to the service: %s', async (path, code) => {
    const { service, askAndLeave } = await openShop(make);
    service.says = 'silence';
    await askAndLeave(path, code);
  });
});

describe('a visitor who leaves', () => {
  it.each([
    ['the request of another with the same code', '/guarded', CODE, VALIDATION],
    ['that of those who wait for the catalogue too', '/items', undefined, ITEMS],
  ])('does not end %s', async (_whose, path, code, endpoint) => {
    const { service, visit } = await openShop();
    service.hold();
    const [first, second] = [visit(path, code), visit(path, code)];
    await vi.waitFor(() => expect(service.asked(endpoint)).toBe(1), SOON);
    // Both wait by then.
    await visit('/nowhere').status;
    first.leave();
    await settle();
    await service.release();
    expect(await second.status).toBe(200);
    expect(service.asked(endpoint)).toBe(1);
  });

  it.each([{}, { guessLimit: false } as const])(
    'is not let in as if the service were down: %j',
    async (options) => {
      const { service, keyApi, open } = await openShop();
      const handled = vi.fn();
      const ended = vi.fn();
      const visit = await open((app) => {
        app.get('/mine', requirePurchase(keyApi, { onUnknown: 'allow', ...options }), handled);
        app.use(((error, _req, res, _next) => {
          ended(`${error.code}: ${error.message}`);
          res.end();
        }) as ErrorRequestHandler);
      });
      service.says = 'silence';
      const { leave } = visit('/mine', CODE);
      await vi.waitFor(() => expect(service.asked()).toBe(1), SOON);
      leave();
      await vi.waitFor(
        () =>
          expect(ended).toHaveBeenCalledExactlyOnceWith(
            expect.stringMatching(/^service_unavailable: .*left/),
          ),
        SOON,
      );
      expect(handled).not.toHaveBeenCalled();
    },
  );

  it('does not pass for an outage: the others are served', async () => {
    const { service, visit, askAndLeave } = await openShop(undefined, 20);
    service.says = 'silence';
    for (let n = 1; n <= 10; n++) await askAndLeave('/guarded', guess(n));
    service.says = 'positive';
    expect(await visit('/guarded', CODE).status).toBe(200);
  });

  it('each time with another code, is counted: nobody asks without end by hanging up', async () => {
    const { service, visit, askAndLeave } = await openShop();
    service.says = 'silence';
    for (let n = 1; n <= 3; n++) {
      await askAndLeave('/guarded', guess(n));
      expect(service.asked()).toBe(n);
    }
    expect(await visit('/guarded', guess(4)).status).toBe(429);
    expect(service.asked()).toBe(3);
  });
});

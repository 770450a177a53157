import { once } from 'node:events';
import { get, type ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler } from 'express';
import { errorHandler, loadItems, type RequirePurchaseOptions, requirePurchase } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { KeyApiService } from '../../support/key-api-service.js';
import { listen } from '../../support/listen.js';
import { CODE, guess } from '../../support/wire.js';

const SOON = { timeout: 40_000, interval: 5 };

/** A shop in front of a service in memory, and visitors who can hang up. */
async function openShop(make: typeof express = express, options: RequirePurchaseOptions = {}) {
  const service = new KeyApiService();
  const keyApi = service.client();
  // The check of the api_key is remembered.
  await keyApi.getAccount();
  const ended = vi.fn();
  const app = make();
  app.get('/guarded', requirePurchase(keyApi, options), (_req, res) => void res.json({}));
  app.get('/items', loadItems(keyApi), (req, res) => void res.json(req.marketplace?.items));
  app.use(((error, _req, _res, next) => {
    ended(String(error));
    next(error);
  }) as ErrorRequestHandler);
  app.use(errorHandler({ log: false }));
  const origin = await listen(app);
  /** Asks, and gives the status, or what hangs up. */
  const visit = (path: string, code?: string) => {
    const headers = code === undefined ? {} : { 'x-purchase-code': code };
    const request = get(`${origin}${path}`, { headers, agent: false });
    const status = new Promise<number | undefined>((resolve) => {
      request.once('response', (res) => resolve(res.resume().statusCode));
      request.once('error', () => resolve(undefined));
    });
    return { status, leave: () => request.destroy() };
  };
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
  return { service, ended, visit, askAndLeave };
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
  it.each<RequirePurchaseOptions>([{}, { guessLimit: false }])(
    'is not let in as if the service were down: %j',
    async (options) => {
      const shop = await openShop(express, { onUnknown: 'allow', ...options });
      shop.service.says = 'silence';
      await shop.askAndLeave('/guarded', CODE);
      const why = expect.stringMatching(/visitor left/);
      await vi.waitFor(() => expect(shop.ended).toHaveBeenCalledExactlyOnceWith(why), SOON);
    },
  );

  it('before the service is asked causes no request', async () => {
    const reached = vi.fn();
    const code = async (req: { res?: ServerResponse }) => {
      const left = once(req.res as ServerResponse, 'close');
      reached();
      await left;
      return CODE;
    };
    const { service, ended, visit } = await openShop(express, { code });
    const before = service.dispatcher.requests.length;
    const { leave } = visit('/guarded');
    await vi.waitFor(() => expect(reached).toHaveBeenCalled(), SOON);
    leave();
    const why = expect.stringMatching(/visitor left/);
    await vi.waitFor(() => expect(ended).toHaveBeenCalledExactlyOnceWith(why), SOON);
    expect(service.dispatcher.requests).toHaveLength(before);
  });

  it('does not pass for an outage: the others are served', async () => {
    const { service, visit, askAndLeave } = await openShop(express, { guessLimit: { limit: 20 } });
    service.says = 'silence';
    for (let n = 1; n <= 10; n++) await askAndLeave('/guarded', guess(n));
    service.says = 'positive';
    expect(await visit('/guarded', CODE).status).toBe(200);
  });
});

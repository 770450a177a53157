import { once } from 'node:events';
import { Agent, get, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import express, { type ErrorRequestHandler } from 'express';
import {
  errorHandler,
  loadItems,
  MarketgateError,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { KeyApiService } from '../../support/key-api-service.js';
import { listen } from '../../support/listen.js';
import { CODE } from '../../support/wire.js';

const eventually = (check: () => void) => vi.waitFor(check, { timeout: 40_000, interval: 5 });

describe('a visitor who leaves', () => {
  /** A shop in front of a service in memory that says nothing yet, and visitors who can hang up. */
  async function openShop(options: RequirePurchaseOptions = {}, limit = 10) {
    const service = new KeyApiService();
    const { requests } = service.wire;
    const keyApi = service.client({ guessLimit: { limit } });
    // The check of the api_key is remembered.
    await keyApi.getAccount();
    service.says = 'silence';
    const ended = vi.fn();
    const app = express();
    app.get('/guarded', requirePurchase(keyApi, options), (_req, res) => void res.json({}));
    app.get('/items', loadItems(keyApi), (req, res) => void res.json(req.marketplace?.items));
    app.use(((error, _req, _res, next) => {
      ended(String(error));
      next(error);
    }) as ErrorRequestHandler);
    app.use(errorHandler({ log: false }));
    const origin = await listen(app);
    /** Asks, and gives the status, or what hangs up. */
    const visit = (path: string, code = CODE) => {
      const headers = { 'x-purchase-code': code };
      const request = get(`${origin}${path}`, { headers, agent: false });
      const status = new Promise<number | undefined>((resolve) => {
        request.once('response', (res) => resolve(res.resume().statusCode));
        request.once('error', () => resolve(undefined));
      });
      return { status, leave: () => request.destroy() };
    };
    /** Leaves as soon as the service has been asked; gives up when the service does not hear of it. */
    async function askAndLeave(path: string, code?: string): Promise<void> {
      const before = requests.length;
      const { leave } = visit(path, code);
      await eventually(() => expect(requests).toHaveLength(before + 1));
      expect(requests[before]?.isAborted).toBe(false);
      leave();
      await eventually(() => expect(requests[before]?.isAborted).toBe(true));
    }
    const expectLeft = () =>
      eventually(() =>
        expect(ended).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(/visitor left/)),
      );
    return { service, visit, askAndLeave, expectLeft };
  }

  it('ends the request to the service', async () => {
    const { askAndLeave } = await openShop();
    for (const path of ['/guarded', '/items']) await askAndLeave(path);
  });

  it.each<RequirePurchaseOptions>([{}, { client: false }])(
    'is not let in as if the service were down: %j',
    async (options) => {
      const { askAndLeave, expectLeft } = await openShop({ onUnknown: 'allow', ...options });
      await askAndLeave('/guarded');
      await expectLeft();
    },
  );

  it('before the service is asked causes no request, and has made no failed attempt', async () => {
    const reached = vi.fn();
    const code = async (req: { res?: ServerResponse }) => {
      if (reached.mock.calls.length > 0) return CODE;
      const left = once(req.res as ServerResponse, 'close');
      reached();
      await left;
      return CODE;
    };
    // Not by the address, which a closed connection has no more.
    const client = () => 'anna';
    const { service, visit, expectLeft } = await openShop({ code, client }, 1);
    const { leave } = visit('/guarded');
    await eventually(() => expect(reached).toHaveBeenCalled());
    leave();
    await expectLeft();
    expect(service.asked()).toBe(0);
    service.says = 'positive';
    expect(await visit('/guarded').status).toBe(200);
  });

  it('is nobody whom the app has answered meanwhile, as by connect-timeout: the connection stays', async () => {
    const service = new KeyApiService();
    const { requests } = service.wire;
    const keyApi = service.client();
    await keyApi.getAccount();
    service.says = 'silence';
    const connections = new Set<unknown>();
    let endInTime = (): void => {};
    const app = express();
    app.use((req, _res, next) => {
      connections.add(req.socket);
      endInTime = () => next(new Error('timeout'));
      next();
    });
    app.get('/', requirePurchase(keyApi));
    app.use(((_error, _req, res, _next) => void res.sendStatus(504)) as ErrorRequestHandler);
    const origin = await listen(app);
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    for (const n of [1, 2]) {
      const visit = get(origin, { agent, headers: { 'x-purchase-code': CODE } });
      await eventually(() => expect(requests).toHaveLength(n + 1));
      endInTime();
      const [res] = await once(visit, 'response');
      expect([res.statusCode, await text(res)]).toEqual([504, 'Gateway Timeout']);
      await eventually(() => expect(requests[n]?.isAborted).toBe(true));
    }
    expect(connections.size).toBe(1);
  });

  it.each([
    ['a no', null],
    ['an outage', new MarketgateError('service_unavailable', 'not sent')],
  ])('is nobody whom the app has answered before the cache gives %s', async (_what, answer) => {
    const next = vi.fn();
    const validatePurchase = async () => {
      if (answer !== null) throw answer;
      return answer;
    };
    const guard = requirePurchase({ validatePurchase });
    const isOver = deferred();
    const app = express().use(async (req, res) => {
      res.send('in time');
      await once(res, 'close');
      guard(req, res, next);
      setImmediate(isOver.resolve);
    });
    await fetch(await listen(app), { headers: { 'x-purchase-code': CODE } });
    await isOver.promise;
    expect(next).not.toHaveBeenCalled();
  });
});

import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import express, { type ErrorRequestHandler } from 'express';
import { errorHandler, loadItems, type RequirePurchaseOptions, requirePurchase } from 'marketgate';
import { expect, it, onTestFinished, vi } from 'vitest';
import { KeyApiService } from '../../support/key-api-service.js';
import { listen } from '../../support/listen.js';
import { CODE } from '../../support/wire.js';

const eventually = (check: () => void) => vi.waitFor(check, { timeout: 40_000, interval: 5 });

/** A shop in front of a service in memory that says nothing yet, and visitors who can leave. */
async function openShop(options: RequirePurchaseOptions = {}) {
  const service = new KeyApiService();
  const { requests } = service.wire;
  const keyApi = service.client();
  // The check of the api_key is remembered.
  await keyApi.getAccount();
  service.says = 'silence';
  const [ended, log, sockets] = [vi.fn(), vi.fn(), new Set<unknown>()];
  /** As connect-timeout answers the request that came last. */
  let timeOut = (): void => {};
  const app = express();
  app.use((req, _res, next) => {
    sockets.add(req.socket);
    timeOut = () => next(new Error('timeout'));
    next();
  });
  app.get('/guarded', requirePurchase(keyApi, options), (_req, res) => void res.json({}));
  app.get('/items', loadItems(keyApi));
  const onError: ErrorRequestHandler = (error, _req, _res, next) => {
    ended(String(error));
    next(error);
  };
  const onTimeout: ErrorRequestHandler = (_error, _req, res, _next) => void res.sendStatus(504);
  app.use(onError, errorHandler({ log }), onTimeout);
  const origin = await listen(app);
  const visit = (path: string, agent: Agent | false = false) =>
    get(origin + path, { agent, headers: { 'x-purchase-code': CODE } }).on('error', () => {});
  return { requests, sockets, visit, ended, log, timeOut: () => timeOut() };
}

it.each<[string, RequirePurchaseOptions]>([
  ['/guarded', {}],
  ['/guarded', { client: false }],
  ['/items', {}],
])(
  'a visitor who leaves %s ends the request, and is not let in as in an outage: %j',
  async (...row) => {
    const [path, options] = row;
    const { requests, visit, ended, log } = await openShop({ onUnknown: 'allow', ...options });
    const leaving = visit(path);
    await eventually(() => expect(requests).toHaveLength(2));
    expect(requests[1]?.isAborted).toBe(false);
    leaving.destroy();
    // Nobody is answered, and nothing is logged: it is no failure.
    const left = expect.stringMatching(/visitor left/);
    await eventually(() => expect(ended).toHaveBeenCalledExactlyOnceWith(left));
    expect(log).not.toHaveBeenCalled();
    expect(requests[1]?.isAborted).toBe(true);
  },
);

it('a visitor whom the app has answered meanwhile, as by connect-timeout, has not left: the connection stays', async () => {
  const { requests, sockets, visit, timeOut } = await openShop();
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  for (const n of [1, 2]) {
    const visiting = visit('/guarded', agent);
    await eventually(() => expect(requests).toHaveLength(n + 1));
    timeOut();
    const [res] = await once(visiting, 'response');
    expect([res.statusCode, await text(res)]).toEqual([504, 'Gateway Timeout']);
    await eventually(() => expect(requests[n]?.isAborted).toBe(true));
  }
  expect(sockets.size).toBe(1);
});

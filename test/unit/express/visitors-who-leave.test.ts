import { once } from 'node:events';
import { Agent, type ClientRequest, get } from 'node:http';
import { text } from 'node:stream/consumers';
import express, { type ErrorRequestHandler } from 'express';
import {
  type CodeSource,
  loadItems,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import { expect, it, onTestFinished, vi } from 'vitest';
import { KeyApiService } from '../../support/key-api-service.js';
import { listen } from '../../support/listen.js';
import { CODE } from '../../support/wire.js';

const eventually = (check: () => void) => vi.waitFor(check, { timeout: 40_000, interval: 5 });

/** A shop in front of a service in memory that says nothing yet, and visitors who can leave. */
async function openShop(options: RequirePurchaseOptions = {}, limit = 10) {
  const service = new KeyApiService();
  const { requests } = service.wire;
  const keyApi = service.client({ guessLimit: { limit } });
  // The check of the api_key is remembered.
  await keyApi.getAccount();
  service.says = 'silence';
  const [ended, sockets] = [vi.fn(), new Set<unknown>()];
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
  app.use(((error, _req, res, _next) => {
    ended(String(error));
    res.sendStatus(504);
  }) as ErrorRequestHandler);
  const origin = await listen(app);
  const visit = (path: string, agent: Agent | false = false) =>
    get(origin + path, { agent, headers: { 'x-purchase-code': CODE } }).on('error', () => {});
  const expectLeft = () =>
    eventually(() =>
      expect(ended).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(/visitor left/)),
    );
  return { service, requests, sockets, visit, expectLeft, timeOut: () => timeOut() };
}

it.each<[string, RequirePurchaseOptions]>([
  ['/guarded', {}],
  ['/guarded', { client: false }],
  ['/items', {}],
])(
  'a visitor who leaves %s ends the request, and is not let in as in an outage: %j',
  async (...row) => {
    const [path, options] = row;
    const { requests, visit, expectLeft } = await openShop({ onUnknown: 'allow', ...options });
    const leaving = visit(path);
    await eventually(() => expect(requests).toHaveLength(2));
    expect(requests[1]?.isAborted).toBe(false);
    leaving.destroy();
    await expectLeft();
    expect(requests[1]?.isAborted).toBe(true);
  },
);

it('a visitor who leaves before the service is asked causes no request, and has made no failed attempt', async () => {
  let leaving: ClientRequest | undefined;
  const code: CodeSource = async ({ res }) => {
    const left = leaving && res && once(res, 'close');
    leaving?.destroy();
    await left;
    return CODE;
  };
  // Not by the address, which a closed connection has no more.
  const { service, visit, expectLeft } = await openShop({ code, client: () => 'anna' }, 1);
  leaving = visit('/guarded');
  await expectLeft();
  expect(service.asked()).toBe(0);
  leaving = undefined;
  service.says = 'positive';
  const [res] = await once(visit('/guarded'), 'response');
  expect(res.statusCode).toBe(200);
});

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

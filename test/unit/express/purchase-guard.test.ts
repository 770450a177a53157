import type { Request, Response } from 'express';
import {
  errorHandler,
  type LoadPurchaseOptions,
  loadItem,
  loadPurchase,
  MarketgateError,
  MemoryHolderStore,
  type Middleware,
  type Purchase,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { expect, it, vi } from 'vitest';
import { throwing } from '../../support/errors.js';
import { expressVersions } from '../../support/express-versions.js';
import { fakeResponse, runMiddleware } from '../../support/fake-response.js';
import { hear } from '../../support/hear.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { CODE, guess, item, purchase } from '../../support/wire.js';

const HEADER = 'x-purchase-code';

/** What a guard does with a request, without a server. */
async function drive(guard: Middleware, sent: unknown = CODE, req: object = {}) {
  Object.assign(req, { method: 'GET', headers: { [HEADER]: sent } });
  const { error, found } = await runMiddleware(guard, req);
  return { error, context: found };
}
const holding = (found: object | null) => ({
  async validatePurchase() {
    if (found instanceof Error) throw found;
    return found as Purchase | null;
  },
});
const denied = (code: string) => expect.objectContaining({ code });
const TOO_MANY = new MarketgateError('too_many_attempts', 'x', { retryAfter: 7 });

it.each(expressVersions)(
  'requirePurchase on %s lets a customer in, and refuses others through next',
  async (_version, express) => {
    const keyApi = { validatePurchase: async (code: string) => (code === CODE ? purchase : null) };
    const app = express().use(express.urlencoded({ extended: true }));
    const guard = requirePurchase(keyApi as never, { item: (req) => Number(req.params.id) });
    const handled = vi.fn((req: Request, res: Response) => {
      res.json({ marketplace: req.marketplace, locals: res.locals.marketplace });
    });
    app.all('/guarded/:id', guard, handled).use(errorHandler({ log: false }));
    const ask = (code = '') => request(app).get('/guarded/1042').set(HEADER, code);

    const found = { verdict: 'valid', purchase };
    expect((await ask(CODE).expect(200)).body).toEqual({ marketplace: found, locals: found });
    // By default the code is also read from a form, and not from the query.
    await request(app).post('/guarded/1042').send(`purchase_code=${CODE}`).expect(200);
    expect(handled).toHaveBeenCalledTimes(2);
    await request(app).get(`/guarded/1042?purchase_code=${CODE}`).expect(402);
    for (const [sent, status, code] of [
      ['', 402, 'purchase_required'],
      [guess(1), 403, 'purchase_code_invalid'],
    ] as const) {
      expect((await ask(sent).expect(status)).body).toMatchObject({ code, status });
    }
    expect(handled).toHaveBeenCalledTimes(2);
  },
);

it('onDenied responds in place of next, or lets in, once, and is not for an outage', async () => {
  const onDenied = vi.fn<NonNullable<RequirePurchaseOptions['onDenied']>>();
  const next = vi.fn();
  const visit = async (found: object | null, headers: object = { [HEADER]: CODE }) => {
    const guard = requirePurchase(holding(found), { onDenied, onUnknown: 'allow' });
    guard({ headers } as never, fakeResponse(), next);
    await new Promise(setImmediate);
    return onDenied.mock.lastCall?.[0].code;
  };
  expect(await visit(null, {})).toBe('purchase_required');
  expect(await visit(null)).toBe('purchase_code_invalid');
  expect(await visit(TOO_MANY)).toBe('too_many_attempts');
  expect(next).not.toHaveBeenCalled();
  onDenied.mockImplementation(async (_denial, _req, _res, next) => {
    next();
    throw new Error('too late');
  });
  await visit(null);
  expect(next.mock.calls).toEqual([[undefined]]);
  const down = new MarketgateError('service_unavailable', 'x');
  await visit(down);
  expect(next.mock.lastCall).toEqual([down]);
  expect(onDenied).toHaveBeenCalledTimes(4);
});

it.each([
  new Error('mine'),
  // With a code that the guard itself lets in for.
  new MarketgateError('service_unavailable', 'mine'),
  // What `next` would read as "go on", or as "skip this route".
  ...[undefined, '', 'route'],
])('what a function of the app throws lets nobody in, and is no denial: %s', async (mine) => {
  const fail = throwing(mine);
  const reject = (): Promise<never> => Promise.reject(mine);
  const [messages, onDenied] = [hear('guard'), vi.fn()];
  const options: LoadPurchaseOptions[] = [
    ...[{ code: reject }, { item: reject }, { accept: fail }, { fresh: reject }],
    { holder: { store: new MemoryHolderStore(), id: reject } },
  ];
  const found = holding(purchase);
  const guards = options.flatMap((each) => [
    requirePurchase(found, { ...each, onUnknown: 'allow', onDenied }),
    loadPurchase(found, each),
  ]);
  // Who is counted is asked only when the service is.
  const { keyApi } = keyApiOn();
  guards.push(requirePurchase(keyApi, { client: fail, onUnknown: 'allow', onDenied }));
  guards.push(loadItem({ getItem: async () => item }, { id: fail }));
  for (const guard of guards) {
    const { error } = await drive(guard);
    expect(error).toEqual(mine instanceof Error ? mine : expect.any(Error));
  }
  expect([onDenied.mock.calls, messages]).toEqual([[], []]);
  const { error } = await drive(requirePurchase(holding(null), { onDenied: reject }));
  expect(error).toEqual(mine instanceof Error ? mine : expect.any(Error));
});

it.each<[verdict: string, LoadPurchaseOptions, object | null, unknown, string | undefined]>([
  ['valid', {}, purchase, CODE, undefined],
  ['absent', {}, purchase, null, 'purchase_required'],
  ['invalid', { item: 7 }, purchase, CODE, 'purchase_item_mismatch'],
  ['unknown', {}, TOO_MANY, CODE, 'too_many_attempts'],
])('a guard leaves the verdict %s at req.marketplace, with %j', async (...row) => {
  const [verdict, options, found, sent, code] = row;
  for (const make of [requirePurchase, loadPurchase]) {
    // In place of what a guard before it has left.
    const req = {};
    await drive(loadPurchase(holding(code === undefined ? null : purchase)), CODE, req);
    const { error, context } = await drive(make(holding(found), options), sent, req);
    const expected = code === undefined ? { purchase } : { denial: denied(code) };
    expect(context).toEqual({ verdict, ...expected });
    expect(error).toBe(make === requirePurchase ? context?.denial : undefined);
  }
});

it('a guard reads its options when it is made, inherited ones too: an app can change them for its next route', async () => {
  const inherited: LoadPurchaseOptions = { item: () => 7 };
  const guard = requirePurchase(holding(purchase), Object.create(inherited));
  delete inherited.item;
  expect((await drive(guard)).error).toEqual(denied('purchase_item_mismatch'));
});

import type { Express, NextFunction, Request, Response } from 'express';
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
import { describe, expect, it, vi } from 'vitest';
import { throwing } from '../../support/errors.js';
import { expressVersions } from '../../support/express-versions.js';
import { runMiddleware } from '../../support/fake-response.js';
import { hear } from '../../support/hear.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { CODE, guess, item, purchase } from '../../support/wire.js';

const HEADER = 'x-purchase-code';

/** What a guard does with a request, without a server. */
async function drive(guard: Middleware, sent: unknown = CODE, req: object = {}) {
  Object.assign(req, { method: 'GET', headers: { [HEADER]: sent } });
  const { error, found, res } = await runMiddleware(guard, req);
  return { error, context: found, locals: res.locals.marketplace };
}
const holding = (found: object | null) => ({
  async validatePurchase() {
    if (found instanceof Error) throw found;
    return found as Purchase | null;
  },
});
const denied = (code: string) => expect.objectContaining({ code });
const TOO_MANY = new MarketgateError('too_many_attempts', 'x', { retryAfter: 7 });
const makers = [
  ['requirePurchase', requirePurchase],
  ['loadPurchase', loadPurchase],
] as const;

describe.each(expressVersions)('requirePurchase on %s', (_version, express) => {
  function open(options: RequirePurchaseOptions = {}) {
    const keyApi = { validatePurchase: async (code: string) => (code === CODE ? purchase : null) };
    const app = express();
    app.use(express.json(), express.urlencoded({ extended: true }));
    app.use('/guarded/:id', requirePurchase(keyApi as never, options));
    const handled = vi.fn((req: Request, res: Response) => {
      res.json({ marketplace: req.marketplace, locals: res.locals.marketplace });
    });
    const failed = vi.fn((error: unknown, _req: unknown, _res: unknown, next: NextFunction) =>
      next(error),
    );
    app.use(handled, failed);
    app.use(errorHandler({ log: false }));
    return { app, endings: () => [handled.mock.calls.length, failed.mock.calls.length] };
  }
  const ask = (app: Express, code?: string, path = '/guarded/1042') =>
    request(app)
      .get(path)
      .set(code === undefined ? {} : { [HEADER]: code });

  it('lets a customer in, with the purchase at req.marketplace and in the locals', async () => {
    const { app, endings } = open({ item: (req) => Number(req.params.id) });
    const { body } = await ask(app, CODE).expect(200);
    expect(body.marketplace).toEqual({ verdict: 'valid', purchase });
    expect(body.locals).toEqual(body.marketplace);
    expect(endings()).toEqual([1, 0]);
  });

  it.each([
    ['no code', undefined, 402, 'purchase_required'],
    ['a wrong code', guess(1), 403, 'purchase_code_invalid'],
  ])('refuses for %s, through next', async (_name, sent, status, code) => {
    const { app, endings } = open();
    expect((await ask(app, sent).expect(status)).body).toMatchObject({ code, status });
    expect(endings()).toEqual([0, 1]);
  });

  it('reads the code from where the app says, by default from a form, and not from the query', async () => {
    await ask(open({ code: async (req) => req.params.id }).app, '', `/guarded/${CODE}`).expect(200);
    await request(open().app).post('/guarded/1').send(`purchase_code=${CODE}`).expect(200);
    await ask(open().app, undefined, `/guarded/1?purchase_code=${CODE}`).expect(402);
  });

  it('lets onDenied respond in place of next, or let in; its failure afterwards is dropped', async () => {
    const own = open({
      onDenied: (denial, _req, res) => res.status(418).json({ own: denial.code }),
    });
    expect((await ask(own.app).expect(418)).body).toEqual({ own: 'purchase_required' });
    expect(own.endings()).toEqual([0, 0]);
    const lenient = open({
      onDenied: async (_denial, _req, _res, next) => {
        next();
        throw new Error('too late');
      },
    });
    await ask(lenient.app).expect(200);
    expect(lenient.endings()).toEqual([1, 0]);
  });
});

it.each([
  new Error('mine'),
  // With codes that the guard itself refuses with, or lets in for.
  new MarketgateError('service_unavailable', 'mine'),
  new MarketgateError('item_id_invalid', 'mine'),
  // What `next` would read as "go on", or as "skip this route".
  ...[undefined, '', 'route'],
])(
  'what a function of the app throws is no denial, and no outage, and lets nobody in: %s',
  async (mine) => {
    const fail = throwing(mine);
    const reject = (): Promise<never> => Promise.reject(mine);
    const messages = hear('guard');
    const onDenied = vi.fn();
    const options: RequirePurchaseOptions[] = [
      ...[{ code: reject }, { item: reject }, { accept: reject }, { fresh: reject }],
      { accept: fail },
      { holder: { store: new MemoryHolderStore(), id: reject } },
    ];
    const errors: unknown[] = [];
    for (const each of options) {
      const guard = requirePurchase(holding(purchase), { ...each, onUnknown: 'allow', onDenied });
      errors.push((await drive(guard)).error);
      errors.push((await drive(loadPurchase(holding(purchase), each))).error);
    }
    expect([onDenied.mock.calls, messages]).toEqual([[], []]);
    // Who is counted is asked only when the service is.
    const counting = { client: fail, onUnknown: 'allow', onDenied } as const;
    errors.push((await drive(requirePurchase(keyApiOn().keyApi, counting))).error);
    errors.push((await drive(requirePurchase(holding(null), { onDenied: reject }))).error);
    errors.push((await drive(loadItem({ getItem: async () => item }, { id: fail }))).error);
    const isOwn = mine instanceof Error;
    for (const error of errors) expect(error).toEqual(isOwn ? mine : expect.any(Error));
  },
);

it('requirePurchase names what a function of the app throws by its kind, where it is no Error', async () => {
  for (const [thrown, kind] of [
    [undefined, 'nothing'],
    ['secret', 'a string'],
  ]) {
    const { error } = await drive(requirePurchase(holding(purchase), { accept: throwing(thrown) }));
    expect(String(error)).toContain(`failed with ${kind} instead of an Error`);
  }
});

it.each<[verdict: string, LoadPurchaseOptions, object | null, unknown, string | undefined]>([
  ['valid', {}, purchase, CODE, undefined],
  ['absent', {}, purchase, null, 'purchase_required'],
  ['invalid', {}, null, CODE, 'purchase_code_invalid'],
  ['invalid', { item: 7 }, purchase, CODE, 'purchase_item_mismatch'],
  ['unknown', {}, TOO_MANY, CODE, 'too_many_attempts'],
])('a guard leaves the verdict %s at req.marketplace, with %j', async (...row) => {
  const [verdict, options, found, sent, code] = row;
  for (const [name, make] of makers) {
    const { error, context, locals } = await drive(make(holding(found), options), sent);
    const expected = code === undefined ? { purchase } : { denial: denied(code) };
    expect(context).toEqual({ verdict, ...expected });
    expect(locals).toBe(context);
    expect(error).toBe(name === 'requirePurchase' ? context?.denial : undefined);
  }
});

it('what the last guard of a route has found stays at req.marketplace', async () => {
  const req = {};
  await drive(loadPurchase(holding(purchase), { item: 7 }), CODE, req);
  const { context } = await drive(loadPurchase(holding(purchase)), CODE, req);
  expect(context).toEqual({ verdict: 'valid', purchase });
  await drive(loadPurchase(holding(null)), CODE, req);
  expect(context).toEqual({ verdict: 'invalid', denial: denied('purchase_code_invalid') });
});

it('onDenied is called for too many failed attempts, and "allow" lets nobody in', async () => {
  const onDenied = vi.fn((_denial, _req, _res, next) => next('mine'));
  const options = { onDenied, onUnknown: 'allow' } as const;
  expect((await drive(requirePurchase(holding(TOO_MANY), options))).error).toBe('mine');
  expect(onDenied.mock.lastCall?.[0]).toMatchObject({ code: 'too_many_attempts' });
});

it.each(makers)(
  '%s reads its options when it is made: an app can change them for its next route',
  async (...row) => {
    const [, make] = row;
    const options: LoadPurchaseOptions = { item: () => 7 };
    const guard = make(holding(purchase), options);
    delete options.item;
    const refused = { verdict: 'invalid', denial: denied('purchase_item_mismatch') };
    expect((await drive(guard)).context).toEqual(refused);
  },
);

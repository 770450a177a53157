import { fileURLToPath } from 'node:url';
import type { Express } from 'express';
import {
  errorHandler,
  firstOf,
  fromHeader,
  fromParams,
  fromQuery,
  type GuessLimit,
  type LoadPurchaseOptions,
  loadItem,
  loadPurchase,
  MarketgateError,
  type MarketgateErrorCode,
  type MarketplaceContext,
  MemoryHolderStore,
  type Middleware,
  type Purchase,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { fakeResponse } from '../../support/fake-response.js';
import { hear } from '../../support/hear.js';
import { countEndings, openShop, type Shop } from '../../support/shop.js';
import { CODE, purchase } from '../../support/wire.js';

const HEADER = 'x-purchase-code';
const WRONG = '00000000-0000-4000-8000-000000000000';
type Kind = Parameters<Shop['code']>[0];

/** What a guard does with a request, without a server. */
async function drive(guard: Middleware, sent: unknown = CODE) {
  const req: { marketplace?: MarketplaceContext } = { headers: { [HEADER]: sent } } as object;
  const res = fakeResponse();
  const error = await new Promise((resolve) => guard(req as never, res, resolve));
  return { error, context: req.marketplace, locals: res.locals.marketplace };
}
const holding = (found: object | null) => ({
  validatePurchase: async () => found as Purchase | null,
});
const failing = (code: MarketgateErrorCode) => ({
  validatePurchase: () => Promise.reject(new MarketgateError(code, 'for the operator')),
});
const denied = (code: string) => expect.objectContaining({ code });
const NONE_LEFT: GuessLimit = {
  limiter: {
    consume: () => Promise.reject({ consumedPoints: 2, msBeforeNext: 1000 }),
    reward: async () => {},
  },
  keyGenerator: () => 'x',
};
const makers = [
  ['requirePurchase', requirePurchase],
  ['loadPurchase', loadPurchase],
] as const;

describe.each(expressVersions)('requirePurchase on %s', (_version, express) => {
  async function open(options: RequirePurchaseOptions = {}) {
    const shop = await openShop();
    const app = express();
    app.use(express.json(), express.urlencoded({ extended: true }));
    app.use('/guarded/:id', requirePurchase(shop.keyApi, options));
    const endings = countEndings(app);
    app.use(errorHandler({ log: false }));
    return { ...shop, app, endings };
  }
  const ask = (app: Express, code?: string, path = '/guarded/1042') =>
    request(app)
      .get(path)
      .set(code === undefined ? {} : { [HEADER]: code });

  it('lets a customer in, with the purchase at req.marketplace and in the locals', async () => {
    const { app, code, endings } = await open({ item: (req) => Number(req.params.id) });
    const { body } = await ask(app, code('supported')).expect(200);
    expect(body.marketplace).toMatchObject({
      verdict: 'valid',
      purchase: { purchase_code: code('supported'), item: { id: 1042 } },
    });
    expect(body.locals).toEqual(body.marketplace);
    expect(endings).toEqual({ errors: [], handled: 1 });
  });

  it.each<[string, RequirePurchaseOptions, string | undefined, number, string]>([
    ['no code', {}, undefined, 402, 'purchase_required'],
    ['a wrong code', {}, WRONG, 403, 'purchase_code_invalid'],
    ['another item', { item: [1042, 9] }, 'other-item', 403, 'purchase_item_mismatch'],
    ['what is no item', { item: () => Number('x') }, 'supported', 400, 'item_id_invalid'],
  ])('refuses for %s, through next', async (_name, options, kindOrCode, status, code) => {
    const shop = await open(options);
    const isKind = shop.sandbox.codes.some(({ kind }) => kind === kindOrCode);
    const sent = isKind ? shop.code(kindOrCode as Kind) : kindOrCode;
    const answer = await ask(shop.app, sent).expect(status);
    expect(answer.body).toMatchObject({ code, status });
    expect(answer.text).not.toContain(sent ?? 'no code');
    expect(shop.endings).toEqual({ errors: [denied(code)], handled: 0 });
  });

  it('compares support with the present, and not with when it was cached', async () => {
    const { app, code, sandbox } = await open({ supported: true });
    sandbox.dialect.supportedUntilPast = true;
    await ask(app, code('supported')).expect(200);
    sandbox.clock.advance(20 * 365 * 86_400_000);
    await ask(app, code('supported')).expect(403);
  });

  it('reads the code from where it is told to', async () => {
    const cases: [RequirePurchaseOptions['code'], (code: string) => request.Test][] = [
      [fromQuery('c'), (code) => request(app).get(`/guarded/1?c=${code}`)],
      [fromParams('id'), (code) => request(app).get(`/guarded/${code}`)],
      [
        async (req) => req.headers.authorization?.slice(5),
        (code) =>
          request(app)
            .get('/guarded/1')
            .set({ authorization: `Code ${code}` }),
      ],
      [
        undefined,
        (code) =>
          request(app)
            .post('/guarded/1')
            .type('form')
            .send({ purchase_code: ` ${code}` }),
      ],
    ];
    let app: Express;
    for (const [source, visit] of cases) {
      const shop = await open({ code: source });
      app = shop.app;
      await visit(shop.code('supported')).expect(200);
    }
  });

  it('does not read the query unless it is told to', async () => {
    const { app, code } = await open();
    await ask(app, undefined, `/guarded/1?purchase_code=${code('supported')}`).expect(402);
  });

  it('gives what res.render can write into', async () => {
    const { keyApi, code } = await openShop();
    const app = express();
    app.engine('txt', (_path: string, options: object, done: (e: null, text: string) => void) =>
      done(null, Object.keys(options).join()),
    );
    app.set('views', fileURLToPath(new URL('.', import.meta.url)));
    app.get('/', requirePurchase(keyApi), (req, res) => {
      res.render('page.txt', req.marketplace?.purchase);
    });
    app.get('/:id', loadItem(keyApi), (req, res) => res.render('page.txt', req.marketplace?.item));
    const answer = await ask(app, code('supported'), '/').expect(200);
    expect(answer.text).toContain('purchase_code');
    expect((await request(app).get('/1042').expect(200)).text).toContain('name');
  });

  it('onDenied responds in place of next', async () => {
    const { app, endings } = await open({
      onDenied: (denial, _req, res) => res.status(418).json({ own: denial.code }),
    });
    expect((await ask(app).expect(418)).body).toEqual({ own: 'purchase_required' });
    expect(endings).toEqual({ errors: [], handled: 0 });
  });

  it('onDenied can let the visitor in, and its failure afterwards is dropped', async () => {
    const { app, endings } = await open({
      onDenied: async (_denial, _req, _res, next) => {
        next();
        throw new Error('too late');
      },
    });
    await ask(app).expect(200);
    expect(endings).toEqual({ errors: [], handled: 1 });
  });

  it('an outage is an error, never "invalid" and no denial', async () => {
    const onDenied = vi.fn();
    const shop = await open({ onDenied });
    shop.sandbox.faults.errorRate = 1;
    const answer = await ask(shop.app, shop.code('supported')).expect(503);
    expect(answer.body.code).toBe('service_unavailable');
    expect(answer.text).not.toMatch(/invalid|not valid/i);
    expect(onDenied).not.toHaveBeenCalled();
  });

  it('onUnknown "allow" lets in during an outage, and nobody without a well-formed code', async () => {
    const shop = await open({ onUnknown: 'allow', item: 1042, supported: true });
    shop.sandbox.faults.errorRate = 1;
    const answer = await ask(shop.app, shop.code('supported')).expect(200);
    // The JSON of an app does not show what is for the operator.
    expect(answer.body.marketplace).toEqual({ verdict: 'unknown' });
    for (const none of ['', ' ', 'abc', 'x y z 1 2 3', 'ä'.repeat(20)]) {
      expect((await ask(shop.app, none)).status).toBeGreaterThanOrEqual(400);
    }
  });

  // `next` reads some of these as "go on", or as "skip this route".
  it.each([undefined, null, '', 'route'])(
    'no function that throws %j lets anybody in',
    async (thrown) => {
      const fail = (): never => {
        throw thrown;
      };
      const reject = (): Promise<never> => Promise.reject(thrown);
      const { keyApi, code } = await openShop();
      const guards = [
        requirePurchase(keyApi, { accept: fail }),
        requirePurchase(keyApi, { code: reject }),
        requirePurchase(keyApi, { licenseType: 'none', onDenied: reject }),
        requirePurchase({ validatePurchase: reject }, { onUnknown: 'allow' }),
        loadPurchase(keyApi, { code: fail }),
        loadItem(keyApi, { id: fail }),
      ];
      for (const guard of guards) {
        const app = express();
        app.get('/:id', guard, (_req, res) => void res.send('in'));
        app.get('/:id', (_req, res) => void res.send('past the guard'));
        app.use(errorHandler());
        vi.spyOn(console, 'error').mockImplementation(() => {});
        await ask(app, code('supported'), '/1042').expect(500);
      }
    },
  );
});

it('a text of more than 512 characters is refused before it is normalised, in guards of any kind', async () => {
  const normalize = vi.spyOn(String.prototype, 'normalize');
  onTestFinished(() => normalize.mockRestore());
  // A field of 100 kB, for which NFKC takes seconds.
  const sent = `a${'\u0301'.repeat(24_900)}${'\u0316'.repeat(24_900)}`;
  const sources = [undefined, firstOf(fromHeader('x-other'), fromHeader(HEADER), fromQuery())];
  for (const code of sources) {
    for (const [, make] of makers) {
      const { context } = await drive(make(holding(purchase), { code, guessLimit: false }), sent);
      expect(context).toMatchObject({ denial: { code: 'purchase_code_invalid' } });
    }
  }
  const lengths = normalize.mock.contexts.map((text) => String(text).length);
  expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(512);
});

it.each([
  new Error('mine'),
  // With codes that the guard itself refuses with, or lets in for.
  new MarketgateError('service_unavailable', 'mine'),
  new MarketgateError('item_id_invalid', 'mine'),
])('an error of the app’s own is no denial and no outage, and goes to next: %s', async (mine) => {
  const fail = (): never => {
    throw mine;
  };
  const store = new MemoryHolderStore();
  for (const throwing of [fail, async () => fail()]) {
    const options: RequirePurchaseOptions[] = [
      { code: throwing },
      { item: throwing },
      { accept: throwing },
      { fresh: throwing },
      { guessLimit: { keyGenerator: fail } },
      { holder: { store, id: throwing } },
    ];
    for (const each of options) {
      const onDenied = vi.fn();
      const guard = requirePurchase(holding(purchase), { ...each, onUnknown: 'allow', onDenied });
      expect((await drive(guard)).error).toBe(mine);
      expect((await drive(loadPurchase(holding(purchase), each))).error).toBe(mine);
      expect(onDenied).not.toHaveBeenCalled();
    }
    expect((await drive(requirePurchase(holding(null), { onDenied: throwing }))).error).toBe(mine);
  }
});

const holderOf = (id: () => Promise<string | undefined>) => ({
  holder: { store: new MemoryHolderStore(), id },
});
it.each<[string, LoadPurchaseOptions, string | undefined]>([
  ['the item', { item: async () => 1042 }, undefined],
  ['another item', { item: async () => [7] }, 'purchase_item_mismatch'],
  ['no item', { item: async () => Number.NaN }, 'item_id_invalid'],
  ['that it is accepted', { accept: async () => true }, undefined],
  ['that it is not accepted', { accept: async () => false }, 'purchase_not_accepted'],
  ['to ask the service', { fresh: async () => true }, 'purchase_code_invalid'],
  ['not to ask it', { fresh: async () => false }, undefined],
  ['nobody', holderOf(async () => undefined), 'login_required'],
  ['the account', holderOf(async () => 'anna'), undefined],
  ['another account', holderOf(async () => 'bert'), 'purchase_held'],
])('a function of the app can promise %s', async (_name, options, code) => {
  await options.holder?.store.take(CODE.toLowerCase(), 'anna', 1);
  const keyApi = { ...holding(null), peekPurchase: () => purchase as Purchase };
  for (const [, make] of makers) {
    expect((await drive(make(keyApi, options))).context?.denial?.code).toBe(code);
  }
});

describe('what a guard leaves at req.marketplace', () => {
  it.each<[verdict: string, LoadPurchaseOptions, object | null, unknown, string | undefined]>([
    ['valid', {}, purchase, CODE, undefined],
    ['absent', {}, purchase, null, 'purchase_required'],
    ['invalid', {}, null, CODE, 'purchase_code_invalid'],
    ['invalid', { item: 7 }, purchase, CODE, 'purchase_item_mismatch'],
    ['unknown', { guessLimit: NONE_LEFT }, purchase, CODE, 'too_many_attempts'],
  ])('is the verdict %s, with %j', async (verdict, options, found, sent, code) => {
    for (const [name, make] of makers) {
      const { error, context, locals } = await drive(make(holding(found), options), sent);
      expect(context).toEqual(
        code === undefined ? { verdict, purchase } : { verdict, denial: denied(code) },
      );
      expect(locals).toBe(context);
      expect(error).toBe(name === 'requirePurchase' ? context?.denial : undefined);
      const other = (context?.denial as { purchase?: Purchase } | undefined)?.purchase;
      expect(other?.purchase_code).toBe(code === 'purchase_item_mismatch' ? CODE : undefined);
    }
  });

  it.each(['api_key_rejected', 'service_unavailable', 'service_refused'] as const)(
    'is "unknown" and why, but not in its JSON: %s',
    async (code) => {
      for (const [, make] of makers) {
        const { context } = await drive(make(failing(code)));
        expect(context).toMatchObject({ verdict: 'unknown', denial: { code } });
        expect(JSON.stringify(context)).toBe('{"verdict":"unknown"}');
      }
    },
  );

  it('is what the last guard of a route has found', async () => {
    const req = { headers: { [HEADER]: CODE } } as { marketplace?: MarketplaceContext };
    const pass = (guard: Middleware) =>
      new Promise((resolve) => guard(req as never, fakeResponse(), resolve));
    await pass(loadPurchase(holding(purchase), { item: 7 }));
    await pass(requirePurchase(holding(purchase)));
    expect(req.marketplace).toEqual({ verdict: 'valid', purchase });
    await pass(requirePurchase(holding(purchase), { item: 7 }));
    expect(req.marketplace).toEqual({
      verdict: 'invalid',
      denial: denied('purchase_item_mismatch'),
    });
  });

  it('is there also when something fails', async () => {
    for (const [, make] of makers) {
      const guard = make(holding(purchase), { code: () => Promise.reject(new Error('mine')) });
      expect((await drive(guard)).context).toEqual({});
    }
  });
});

it.each([undefined, true, 'yes', 7, {}, { item: null }, { item: { id: '1042' } }])(
  'a guard lets nobody in by %j, which is neither a purchase nor null',
  async (answer) => {
    const wrapper = { validatePurchase: async () => answer as never };
    const cached = { ...wrapper, peekPurchase: () => answer as never };
    for (const keyApi of [wrapper, cached]) {
      const { error, context } = await drive(requirePurchase(keyApi, { onUnknown: 'allow' }));
      expect(error).toMatchObject({ code: 'unexpected_response', status: 502 });
      expect(String(error)).toContain('validatePurchase');
      expect(context).toEqual({ verdict: 'unknown' });
    }
  },
);

it('a guard lets nobody in where a condition needs a field that cannot be read', async () => {
  const unreadable = { ...purchase, supported_until: 'for ever' };
  for (const onUnknown of ['deny', 'allow'] as const) {
    const guard = requirePurchase(holding(unreadable), { supported: true, onUnknown });
    const { error, context } = await drive(guard);
    expect(error).toMatchObject({ code: 'unexpected_response', status: 502 });
    expect(context).toEqual({ verdict: 'unknown' });
  }
});

it('a guard with "fresh" asks the service whatever the cache has', async () => {
  const keyApi = {
    validatePurchase: vi.fn(async () => purchase as Purchase),
    peekPurchase: () => null,
  };
  for (const [, make] of makers) {
    for (const fresh of [true, () => true]) {
      expect((await drive(make(keyApi, { fresh }))).context?.verdict).toBe('valid');
      const call = expect.objectContaining({ fresh: true });
      expect(keyApi.validatePurchase).toHaveBeenLastCalledWith(CODE, call);
    }
    expect((await drive(make(keyApi, { fresh: () => false }))).context?.verdict).toBe('invalid');
  }
});

it('onDenied is called for too many failed attempts, and "allow" lets nobody in', async () => {
  const onDenied = vi.fn((_denial, _req, _res, next) => next('mine'));
  const options = { guessLimit: NONE_LEFT, onDenied, onUnknown: 'allow' } as const;
  expect((await drive(requirePurchase(holding(purchase), options))).error).toBe('mine');
  expect(onDenied.mock.lastCall?.[0]).toMatchObject({ code: 'too_many_attempts' });
});

describe('marketgate:guard', () => {
  it('reports a refusal also where the app’s own onDenied overrules it', async () => {
    const messages = hear('guard');
    const onDenied: RequirePurchaseOptions['onDenied'] = (_denial, _req, _res, next) => next();
    await drive(requirePurchase(holding(null), { onDenied }));
    expect(messages).toStrictEqual([{ allowed: false, code: 'purchase_code_invalid' }]);
  });

  it('does not report an error of the app’s own, which is no decision', async () => {
    const messages = hear('guard');
    const accept = () => Promise.reject(new Error('mine'));
    await drive(requirePurchase(holding(purchase), { accept }));
    expect(messages).toEqual([]);
  });
});

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
const holderOf = (id: () => Promise<string | undefined>) => ({
  holder: { store: new MemoryHolderStore(), id },
});
const denied = (code: string) => expect.objectContaining({ code });

const NONE_LEFT: GuessLimit = {
  limiter: {
    consume: () => Promise.reject({ consumedPoints: 2, msBeforeNext: 1000 }),
    reward: async () => {},
  },
  keyGenerator: () => 'x',
};

describe.each(expressVersions)('requirePurchase on %s', (_version, express) => {
  async function open(options: RequirePurchaseOptions = {}, shopOptions = {}) {
    const shop = await openShop(shopOptions);
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
  ])('refuses for %s', async (_name, options, kindOrCode, status, code) => {
    const shop = await open(options);
    const isKind = shop.sandbox.codes.some(({ kind }) => kind === kindOrCode);
    const sent = isKind ? shop.code(kindOrCode as Kind) : kindOrCode;
    const answer = await ask(shop.app, sent).expect(status);
    expect(answer.type).toBe('application/problem+json');
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

  it.each<
    [string, RequirePurchaseOptions['code'], (code: string) => [string, Record<string, string>?]]
  >([
    ['the query', fromQuery('c'), (code) => [`/guarded/1?c=${code}`]],
    ['the parameters', fromParams('id'), (code) => [`/guarded/${code}`]],
    [
      'a function, later',
      async (req) => req.headers.authorization?.slice(5),
      (code) => ['/guarded/1', { authorization: `Code ${code}` }],
    ],
  ])('finds the code in %s', async (_name, source, build) => {
    const { app, code } = await open({ code: source });
    const [path, headers = {}] = build(code('supported'));
    await request(app).get(path).set(headers).expect(200);
  });

  it('finds the code in the body of a form, by default', async () => {
    const { app, code } = await open();
    const form = request(app).post('/guarded/1').type('form');
    await form.send({ purchase_code: ` ${code('supported')}` }).expect(200);
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

  it('says when to come back also without an error handler', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const { keyApi, sandbox, code } = await openShop();
    sandbox.faults.rateLimit = 17;
    const app = express().get('/', requirePurchase(keyApi));
    const answer = await ask(app, code('supported'), '/').expect(503);
    expect(answer.headers['retry-after']).toBe('17');
  });

  describe('onDenied', () => {
    it('answers in place of next', async () => {
      const { app, endings } = await open({
        onDenied: (denial, _req, res) => res.status(418).json({ own: denial.code }),
      });
      expect((await ask(app).expect(418)).body).toEqual({ own: 'purchase_required' });
      expect(endings).toEqual({ errors: [], handled: 0 });
    });

    it('can let the visitor on, and is not called twice when it fails afterwards', async () => {
      const { app, endings } = await open({
        onDenied: async (_denial, _req, _res, next) => {
          next();
          throw new Error('too late');
        },
      });
      await ask(app).expect(200);
      expect(endings).toEqual({ errors: [], handled: 1 });
    });
  });

  describe('when the service cannot be asked', () => {
    // Each state of the service, and what comes of it, is in every-case.test.ts.
    it('is an error, never "invalid"', async () => {
      const onDenied = vi.fn();
      const shop = await open({ onDenied });
      shop.sandbox.faults.errorRate = 1;
      const answer = await ask(shop.app, shop.code('supported')).expect(503);
      expect(answer.body.code).toBe('service_unavailable');
      expect(answer.text).not.toMatch(/invalid|not valid/i);
      expect(shop.endings.handled).toBe(0);
      expect(onDenied).not.toHaveBeenCalled();
    });

    it('with onUnknown "allow" lets in without a purchase, and not without a code', async () => {
      const shop = await open({ onUnknown: 'allow', item: 1042, supported: true });
      shop.sandbox.faults.errorRate = 1;
      const answer = await ask(shop.app, shop.code('supported')).expect(200);
      // What the operator reads is not in the JSON of an app.
      expect(answer.body.marketplace).toEqual({ verdict: 'unknown' });
      for (const none of ['', ' ', 'abc', 'x y z 1 2 3', 'ä'.repeat(20)]) {
        expect((await ask(shop.app, none)).status).toBeGreaterThanOrEqual(400);
      }
    });
  });
});

it('a text of more than 512 characters is refused before it is normalised, in guards of any kind', async () => {
  const normalize = vi.spyOn(String.prototype, 'normalize');
  onTestFinished(() => normalize.mockRestore());
  // A field of 100 kB, for which NFKC takes seconds.
  const sent = `a${'\u0301'.repeat(24_900)}${'\u0316'.repeat(24_900)}`;
  const sources = [undefined, firstOf(fromHeader('x-other'), fromHeader(HEADER), fromQuery())];
  for (const code of sources) {
    for (const make of [requirePurchase, loadPurchase]) {
      const { context } = await drive(make(holding(purchase), { code, guessLimit: false }), sent);
      expect(context).toMatchObject({ denial: { code: 'purchase_code_invalid' } });
    }
  }
  const lengths = normalize.mock.contexts.map((text) => String(text).length);
  expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(512);
});

describe('an error of the app’s own', () => {
  const MINE = [
    new Error('mine'),
    // With codes that the guard itself refuses with, or lets in for.
    new MarketgateError('service_unavailable', 'mine'),
    new MarketgateError('support_expired', 'mine'),
    new MarketgateError('item_id_invalid', 'mine'),
  ];
  const failures = (mine: Error): [string, RequirePurchaseOptions][] => {
    const fail = (): never => {
      throw mine;
    };
    const reject = async () => fail();
    return [
      ['code', { code: fail }],
      ['code, later', { code: reject }],
      ['item', { item: fail }],
      ['item, later', { item: reject }],
      ['accept', { accept: fail }],
      ['accept, later', { accept: reject }],
      ['fresh', { fresh: fail }],
      ['fresh, later', { fresh: reject }],
      ['keyGenerator', { guessLimit: { keyGenerator: fail } }],
      ['holder.id', { holder: { store: new MemoryHolderStore(), id: fail } }],
      ['holder.id, later', { holder: { store: new MemoryHolderStore(), id: reject } }],
    ];
  };

  it.each(MINE)('%s is no denial and no outage: it goes to next', async (mine) => {
    for (const [, options] of failures(mine)) {
      const onDenied = vi.fn();
      const guard = requirePurchase(holding(purchase), {
        ...options,
        onUnknown: 'allow',
        onDenied,
      });
      expect((await drive(guard)).error).toBe(mine);
      expect((await drive(loadPurchase(holding(purchase), options))).error).toBe(mine);
      expect(onDenied).not.toHaveBeenCalled();
    }
  });

  it.each(['onDenied', 'onDenied, later'])('from %s goes to next', async (name) => {
    const [mine] = MINE;
    const onDenied = () => {
      if (name === 'onDenied') throw mine;
      return Promise.reject(mine);
    };
    expect((await drive(requirePurchase(holding(null), { onDenied }))).error).toBe(mine);
  });
});

describe('functions of the app that give a promise', () => {
  it.each<[string, LoadPurchaseOptions, string | undefined]>([
    ['the item', { item: async () => 1042 }, undefined],
    ['another item', { item: async () => [7] }, 'purchase_item_mismatch'],
    ['no item', { item: async () => Number.NaN }, 'item_id_invalid'],
    ['to ask the service', { fresh: async () => true }, 'purchase_code_invalid'],
    ['not to ask it', { fresh: async () => false }, undefined],
    ['nobody', holderOf(async () => undefined), 'login_required'],
    ['the account', holderOf(async () => 'anna'), undefined],
    ['another account', holderOf(async () => 'bert'), 'purchase_held'],
  ])('are awaited: %s', async (_name, options, code) => {
    await options.holder?.store.take(CODE.toLowerCase(), 'anna', 1);
    const keyApi = { ...holding(null), peekPurchase: () => purchase as Purchase };
    for (const make of [requirePurchase, loadPurchase]) {
      const { context } = await drive(make(keyApi, options));
      expect(context?.denial?.code).toBe(code);
    }
  });

  it.each<[string, RequirePurchaseOptions]>([
    ['keyGenerator', { guessLimit: { keyGenerator: (async () => 'anna') as never } }],
    ['fresh', { fresh: () => 1 as never }],
    ['fresh', { fresh: async () => '1' as never }],
  ])('and wrong values of %s are named', async (name, options) => {
    const { error } = await drive(requirePurchase(holding(purchase), options));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain(`"${name}" must`);
  });
});

describe('what a guard leaves at req.marketplace', () => {
  const makers = [
    ['requirePurchase', requirePurchase],
    ['loadPurchase', loadPurchase],
  ] as const;

  it.each(makers)('%s: a purchase', async (_name, make) => {
    const { error, context, locals } = await drive(make(holding(purchase)));
    expect(error).toBeUndefined();
    expect(context).toEqual({ verdict: 'valid', purchase });
    expect(locals).toBe(context);
  });

  const CASES: [verdict: string, LoadPurchaseOptions, object | null, unknown, string][] = [
    ['absent', {}, purchase, null, 'purchase_required'],
    ['invalid', {}, null, CODE, 'purchase_code_invalid'],
    ['invalid', { item: 7 }, purchase, CODE, 'purchase_item_mismatch'],
    ['invalid', { item: () => Number.NaN }, purchase, CODE, 'item_id_invalid'],
    ['unknown', { guessLimit: NONE_LEFT }, purchase, CODE, 'too_many_attempts'],
  ];
  it.each(CASES)('%s, and the denial: %j', async (verdict, options, found, sent, code) => {
    for (const [name, make] of makers) {
      const { error, context, locals } = await drive(make(holding(found), options), sent);
      expect(context).toEqual({ verdict, denial: denied(code) });
      expect(locals).toBe(context);
      expect(error).toBe(name === 'requirePurchase' ? context?.denial : undefined);
      const other = (context?.denial as { purchase?: Purchase } | undefined)?.purchase;
      expect(other?.purchase_code).toBe(code === 'purchase_item_mismatch' ? CODE : undefined);
    }
  });

  it.each(['api_key_rejected', 'service_unavailable', 'service_refused'] as const)(
    'unknown, and why: %s',
    async (code) => {
      for (const [, make] of makers) {
        const { context } = await drive(make(failing(code)));
        expect(context).toMatchObject({ verdict: 'unknown', denial: { code } });
        expect(JSON.stringify(context)).toBe('{"verdict":"unknown"}');
      }
    },
  );

  it('the last guard of a route counts', async () => {
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
    const code = () => {
      throw new Error('mine');
    };
    for (const [, make] of makers) {
      expect((await drive(make(holding(purchase), { code }))).context).toEqual({});
    }
  });
});

describe('a guard', () => {
  it('refuses for too many failed attempts: onDenied is called, and "allow" does not let in', async () => {
    const onDenied = vi.fn((_denial, _req, _res, next) => next('mine'));
    const options = { guessLimit: NONE_LEFT, onDenied, onUnknown: 'allow' } as const;
    expect((await drive(requirePurchase(holding(purchase), options))).error).toBe('mine');
    expect(onDenied.mock.lastCall?.[0]).toMatchObject({ code: 'too_many_attempts' });
  });

  it.each([undefined, true, 'yes', 7, {}, { item: null }, { item: { id: '1042' } }])(
    'lets nobody in by %j, which is neither a purchase nor null',
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

  it('lets nobody in where a condition needs a field that cannot be read', async () => {
    const unreadable = { ...purchase, supported_until: 'for ever' };
    for (const onUnknown of ['deny', 'allow'] as const) {
      const guard = requirePurchase(holding(unreadable), { supported: true, onUnknown });
      const { error, context } = await drive(guard);
      expect(error).toMatchObject({ code: 'unexpected_response', status: 502 });
      expect(context).toEqual({ verdict: 'unknown' });
    }
  });

  it('with "fresh" asks the service whatever the cache knows', async () => {
    const keyApi = {
      validatePurchase: vi.fn(async () => purchase as Purchase),
      peekPurchase: () => null,
    };
    const fresh = vi.fn((req: { headers: object }) => req.headers !== undefined);
    for (const make of [requirePurchase, loadPurchase]) {
      expect((await drive(make(keyApi, { fresh }))).context?.verdict).toBe('valid');
      expect((await drive(make(keyApi, { fresh: true }))).context?.verdict).toBe('valid');
      expect((await drive(make(keyApi, { fresh: () => false }))).context?.verdict).toBe('invalid');
    }
    expect(keyApi.validatePurchase).toHaveBeenCalledTimes(4);
    expect(keyApi.validatePurchase).toHaveBeenCalledWith(
      CODE,
      expect.objectContaining({ fresh: true }),
    );
  });

  it('takes what the service answers as long as it must: "accept" can be later', async () => {
    const peekPurchase = () => purchase as Purchase;
    for (const accepted of [true, false]) {
      const guard = requirePurchase(
        { validatePurchase: vi.fn(), peekPurchase },
        { accept: async () => accepted },
      );
      expect((await drive(guard)).context?.verdict).toBe(accepted ? 'valid' : 'invalid');
    }
  });
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

import type { Request, Response } from 'express';
import {
  type CheckPurchaseOptions,
  checkPurchase,
  type Decision,
  errorHandler,
  type HolderOptions,
  type HolderStore,
  loadPurchase,
  MarketgateError,
  MemoryHolderStore,
  type Purchase,
  purchaseOf,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { everythingOf, throwing } from '../../support/errors.js';
import { expressVersions } from '../../support/express-versions.js';
import { fakeResponse } from '../../support/fake-response.js';
import { hear } from '../../support/hear.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { page } from '../../support/service-in-memory.js';
import { openShop } from '../../support/shop.js';
import { CODE, purchase as onTheWire } from '../../support/wire.js';

const purchase = onTheWire as Purchase;
const serviceWith = (found: Purchase | null) => ({ validatePurchase: async () => found });
/** A service in which every code is valid. */
const anyCode = {
  validatePurchase: async (code: string) => ({ ...purchase, purchase_code: code }),
};

/** The decision for an account that comes with a valid code. */
const visit = (
  store: HolderStore,
  id: unknown,
  options: Partial<CheckPurchaseOptions> & {
    max?: HolderOptions<unknown>['max'];
    code?: unknown;
  } = {},
  service: object = anyCode,
): Promise<Decision> => {
  const { max, code = CODE, ...rest } = options;
  const holder = { store, id, ...(max !== undefined && { max }) } as never;
  return checkPurchase(service as never, code, { guessLimit: false, holder, ...rest });
};

/** The code of the refusal or the error; "valid" without one. */
const codeOf = (decision: Decision): string => {
  if (decision.verdict === 'valid') return 'valid';
  return decision.verdict === 'unknown' ? decision.error.code : decision.denial.code;
};
/** The visits, which begin at once, end with these codes. */
async function expectCodes(visits: Promise<Decision>[], ...codes: string[]): Promise<void> {
  expect((await Promise.all(visits)).map(codeOf)).toEqual(codes);
}

/** A store that counts what is taken. */
function spiedStore() {
  const store = new MemoryHolderStore();
  return { store, take: vi.spyOn(store, 'take') };
}

/** Time that a test moves. */
const fakeTime = () => vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });

describe('one code, one customer', () => {
  it('lets the first in, and refuses all others with the purchase', async () => {
    const store = new MemoryHolderStore();
    expect(await visit(store, 'anna')).toEqual({ verdict: 'valid', purchase });
    const second = await visit(store, 'bert');
    expect(second).toMatchObject({
      verdict: 'invalid',
      denial: {
        code: 'purchase_held',
        status: 403,
        purchase: { purchase_code: CODE },
        holders: { count: 1, max: 1 },
      },
    });
    expect(everythingOf((second as { denial: unknown }).denial)).not.toContain(CODE);
    await expectCodes([visit(store, 'anna')], 'valid');
  });

  it('lets as many in as max, also when all come at once', async () => {
    const store = new MemoryHolderStore();
    const visits = Array.from({ length: 100 }, (_, i) => visit(store, i, { max: 3 }));
    const codes = (await Promise.all(visits)).map(codeOf);
    expect(codes.filter((code) => code === 'valid')).toHaveLength(3);
    expect(codes.filter((code) => code === 'purchase_held')).toHaveLength(97);
  });

  it('knows a code in every spelling, and gives the store one', async () => {
    const { store, take } = spiedStore();
    const spellings = [CODE, CODE.toUpperCase(), ` ${CODE}\u200b`, CODE.replace('-', '\uff0d')];
    for (const [i, code] of spellings.entries()) {
      const expected = i === 0 ? 'valid' : 'purchase_held';
      await expectCodes([visit(store, `account ${i}`, { code })], expected);
    }
    expect(new Set(take.mock.calls.map(([code]) => code))).toEqual(new Set([CODE.toLowerCase()]));
  });

  it('is by the code that the service names, because it can accept several spellings of one', async () => {
    const store = new MemoryHolderStore();
    const lenient = serviceWith({ ...purchase, purchase_code: ` ${CODE.toUpperCase()} ` });
    const plain = CODE.replaceAll('-', '');
    await expectCodes(
      [visit(store, 'anna', { code: plain }, lenient), visit(store, 'bert', {}, lenient)],
      'valid',
      'purchase_held',
    );
    expect(await store.holders(CODE)).toEqual(['anna']);
  });

  it('is by licence where max is a function', async () => {
    const store = new MemoryHolderStore();
    const max = ({ license_type }: Purchase) => (license_type === 'Extended' ? 3 : 1);
    const extended = serviceWith({ ...purchase, license_type: 'Extended' });
    const visits = ['a', 'b', 'c', 'd'].map((id) => visit(store, id, { max }, extended));
    await expectCodes(visits, 'valid', 'valid', 'valid', 'purchase_held');
    const refused = await visit(store, 'd', { max }, extended);
    expect(refused).toMatchObject({ denial: { holders: { count: 3, max: 3 } } });
    const other = CODE.replace(/^./, 'f');
    for (const [id, expected] of [
      ['a', 'valid'],
      ['b', 'purchase_held'],
    ] as const) {
      await expectCodes([visit(store, id, { max, code: other })], expected);
    }
  });

  it.each<() => unknown>([() => 0, () => 1.5, () => '3', () => undefined, async () => 1])(
    'is an error of the app where max is %s',
    async (max) => {
      const { store, take } = spiedStore();
      const visiting = visit(store, 'anna', { max: max as never });
      await expect(visiting).rejects.toThrow('"holder.max" must be a whole number, 1 or more');
      expect(take).not.toHaveBeenCalled();
    },
  );

  it('is refused all the same where the store cannot say how many hold the code', async () => {
    const store = new MemoryHolderStore();
    await visit(store, 'anna', { max: 2 });
    vi.spyOn(store, 'holders').mockRejectedValue(new Error('down'));
    expect(await visit(store, 'bert')).toMatchObject({ denial: { holders: { count: 1, max: 1 } } });
  });

  it('goes by the code that was sent, because a service can mask the one in its answer', async () => {
    const store = new MemoryHolderStore();
    const masked = serviceWith({ ...purchase, purchase_code: '****-1c2d' });
    const other = '11111111-1c2d-4c2d-8c2d-111111111c2d';
    await expectCodes(
      [visit(store, 'anna', {}, masked), visit(store, 'bert', { code: other }, masked)],
      'valid',
      'valid',
    );
  });

  it.each<[string, Partial<CheckPurchaseOptions>, Purchase | null | string, string]>([
    ['no purchase', {}, null, 'purchase_code_invalid'],
    ['another item', { item: 7 }, purchase, 'purchase_item_mismatch'],
    ['the app, later', { accept: async () => false }, purchase, 'purchase_not_accepted'],
    ['an outage', {}, 'service_unavailable', 'service_unavailable'],
    ['no date', { supported: true }, { ...purchase, supported_until: 'x' }, 'unexpected_response'],
  ])('takes nothing for %s', async (_what, options, found, expected) => {
    const { store, take } = spiedStore();
    const service =
      typeof found === 'string'
        ? { validatePurchase: () => Promise.reject(new MarketgateError(found as never, 'x')) }
        : serviceWith(found);
    // Also without an account: the other conditions come first.
    for (const id of ['anna', undefined]) {
      await expectCodes([visit(store, id, options, service)], expected);
    }
    expect(take).not.toHaveBeenCalled();
  });

  it('takes after a condition that answers later', async () => {
    const store = new MemoryHolderStore();
    await expectCodes([visit(store, 'anna', { accept: async () => true })], 'valid');
    expect(await store.holders(CODE)).toEqual(['anna']);
  });

  it('takes nothing for a visitor who has left', async () => {
    const { store, take } = spiedStore();
    const leaving = new AbortController();
    const service = {
      validatePurchase: async () => {
        leaving.abort(new Error('left'));
        return purchase;
      },
    };
    const { signal } = leaving;
    const options = { guessLimit: undefined, client: 'anna', signal };
    await expect(visit(store, 'anna', options, service)).rejects.toThrow('left');
    expect(take).not.toHaveBeenCalled();
  });
});

describe('the id', () => {
  it.each([undefined, null, false, '', '  '])('%j is nobody: login_required', async (id) => {
    const { store, take } = spiedStore();
    const denial = { code: 'login_required', status: 401 };
    expect(await visit(store, id)).toMatchObject({ verdict: 'invalid', denial });
    expect(take).not.toHaveBeenCalled();
  });

  it.each<[unknown, string]>([
    [7, '7'],
    [0, '0'],
    [12345678901234567890n, '12345678901234567890'],
    [' anna', ' anna'],
    ['__proto__', '__proto__'],
  ])('%s holds as %j', async (id, holder) => {
    const store = new MemoryHolderStore();
    await expectCodes([visit(store, id), visit(store, holder)], 'valid', 'valid');
    expect(await store.holders(CODE)).toEqual([holder]);
  });

  it.each([true, Number.NaN, {}, ['anna'], Promise.resolve('anna'), Symbol('anna')])(
    'of another kind is a mistake of the app: %o',
    async (id) => {
      const { store, take } = spiedStore();
      await expect(visit(store, id)).rejects.toThrow('"holder.id" must give a string, a number');
      expect(take).not.toHaveBeenCalled();
    },
  );
});

describe('a holder who comes again', () => {
  it('is known for five seconds, and then read again', async () => {
    fakeTime();
    const { store, take } = spiedStore();
    const asked = [];
    for (const passed of [0, 1, 4998, 1, 1, 4998]) {
      vi.advanceTimersByTime(passed);
      await expectCodes([visit(store, 'anna')], 'valid');
      asked.push(take.mock.calls.length);
    }
    expect(asked).toEqual([1, 1, 1, 2, 2, 2]);
    // Not so a refusal: a release counts at once.
    for (const count of [3, 4]) {
      await visit(store, 'bert');
      expect(take).toHaveBeenCalledTimes(count);
    }
  });

  it('is known by code and account, in all guards with the same store', async () => {
    const { store, take } = spiedStore();
    await visit(store, 'anna', { max: 2 });
    await visit(store, 'anna', { max: 1 });
    expect(take).toHaveBeenCalledTimes(1);
    await visit(store, 'bert', { max: 2 });
    await visit(store, 'anna', { code: CODE.replace(/^./, 'f') });
    expect(take).toHaveBeenCalledTimes(3);
    await expectCodes([visit(new MemoryHolderStore(), 'carl')], 'valid');
  });

  it.each([['anna'], [undefined]])('is not known after a release (%s)', async (released) => {
    const store = new MemoryHolderStore();
    await visit(store, 'anna');
    await store.release(CODE.toUpperCase(), released);
    await expectCodes([visit(store, 'bert'), visit(store, 'anna')], 'valid', 'purchase_held');
  });

  it('is not known by an answer from before a release', async () => {
    const { store, take } = spiedStore();
    const answer = deferred();
    take.mockImplementationOnce(async (...args) => {
      const isHeld = await store.take(...args);
      await answer.promise;
      return isHeld;
    });
    const late = visit(store, 'anna');
    await vi.waitFor(() => expect(take).toHaveBeenCalledTimes(2), { timeout: 40_000 });
    await store.release(CODE);
    answer.resolve();
    expect(codeOf(await late)).toBe('valid');
    await expectCodes([visit(store, 'bert'), visit(store, 'anna')], 'valid', 'purchase_held');
  });

  describe('where another process releases', () => {
    /** The store of all processes, and that of this one, which does not hear of a release. */
    function fleet() {
      const shared = new MemoryHolderStore();
      const take = vi.fn((...args: Parameters<HolderStore['take']>) => shared.take(...args));
      const store: HolderStore = {
        take,
        release: (...args) => shared.release(...args),
        holders: (code) => shared.holders(code),
      };
      return { shared, store, take };
    }

    it('is refused after five seconds', async () => {
      fakeTime();
      const { shared, store } = fleet();
      await visit(store, 'anna');
      await shared.release(CODE);
      await shared.take(CODE, 'bert', 1);
      await expectCodes([visit(store, 'anna')], 'valid');
      vi.advanceTimersByTime(5000);
      await expectCodes([visit(store, 'anna')], 'purchase_held');
    });

    it.each(['bert', undefined])('is refused once another account is let in', async (first) => {
      const { shared, store } = fleet();
      await expectCodes([visit(store, 'anna')], 'valid');
      if (first) await expectCodes([visit(store, first)], 'purchase_held');
      await shared.release(CODE);
      await expectCodes([visit(store, 'bert')], 'valid');
      await expectCodes([visit(store, 'anna')], 'purchase_held');
      await expectCodes([visit(store, 'bert')], 'valid');
    });

    it('is refused once another account of this process is', async () => {
      const { shared, store } = fleet();
      await visit(store, 'anna');
      await shared.release(CODE);
      await shared.take(CODE, 'carl', 1);
      await expectCodes([visit(store, 'bert')], 'purchase_held');
      await expectCodes([visit(store, 'anna')], 'purchase_held');
    });

    it('refuses another account each time, and asks about no holder again', async () => {
      const { shared, store, take } = fleet();
      const code = CODE.replace(/^./, 'f');
      await shared.take(code, 'carl', 1);
      await visit(store, 'anna');
      for (const _ of [1, 2]) {
        expect(codeOf(await visit(store, 'bert', { code }))).toBe('purchase_held');
      }
      await visit(store, 'anna');
      expect(take).toHaveBeenCalledTimes(3);
    });

    it('stays known next to as many others as can hold the code', async () => {
      fakeTime();
      const { store, take } = fleet();
      for (const id of ['anna', 'bert', 'anna', 'bert']) await visit(store, id, { max: 2 });
      expect(take).toHaveBeenCalledTimes(2);
      // One for all that are known.
      expect(vi.getTimerCount()).toBe(1);
    });
  });

  it('is that of one of 10,000 codes that are known', async () => {
    const { store, take } = spiedStore();
    const come = (i: number) => visit(store, 'anna', { code: `${CODE}${i}` });
    for (let i = 0; i <= 10_000; i++) await come(i);
    take.mockClear();
    for (const i of [0, 9_999]) await come(i);
    expect(take).not.toHaveBeenCalled();
    await come(10_000);
    expect(take).toHaveBeenCalledTimes(1);
  });
});

const FAILURES: [string, () => unknown][] = [
  ['rejects', () => Promise.reject(new Error(`no route to ${CODE}`))],
  ['throws', throwing(new TypeError(CODE))],
  ['rejects with nothing', () => Promise.reject(undefined)],
  ['rejects with one of ours', () => Promise.reject(new MarketgateError('login_required', CODE))],
  ['never answers', () => new Promise(() => {})],
  ['answers neither true nor false', async () => 1],
  ['answers nothing', async () => undefined],
];

it.each(FAILURES)(
  'a store that %s is unavailable; nobody is known by that',
  async (_what, fail) => {
    fakeTime();
    const { store, take } = spiedStore();
    take.mockImplementationOnce(fail as never);
    const decision = visit(store, 'anna');
    await vi.advanceTimersByTimeAsync(2000);
    expect(await decision).toMatchObject({
      verdict: 'unknown',
      error: {
        code: 'store_unavailable',
        status: 503,
        message: expect.stringMatching(/^holder\.store\.take (failed|did not answer|gave neither)/),
      },
    });
    expect(everythingOf(((await decision) as { error: unknown }).error)).not.toContain(CODE);
    await expectCodes([visit(store, 'anna')], 'valid');
    expect(take).toHaveBeenCalledTimes(2);
  },
);

describe.each(expressVersions)('the option holder on %s', (_version, express) => {
  /** An app whose visitors say by a header which account is theirs. */
  async function open(
    options: Partial<RequirePurchaseOptions> = {},
    store: HolderStore = new MemoryHolderStore(),
  ) {
    const shop = await openShop();
    const app = express();
    const id = (req: { headers: object }) => (req.headers as { account?: string }).account;
    const all = { holder: { store, id }, ...options };
    app.get('/', requirePurchase(shop.keyApi, all), (req, res) => {
      const { verdict, purchase } = req.marketplace ?? {};
      res.json({ verdict, item: purchase && purchaseOf(req).item.id });
    });
    const { onUnknown: _, onDenied: __, ...loads } = all;
    app.get('/load', loadPurchase(shop.keyApi, loads), (req, res) => {
      const { verdict, denial, purchase } = req.marketplace ?? {};
      res.json({ verdict, code: denial?.code, hasPurchase: purchase !== undefined });
    });
    app.use(errorHandler({ log: false }));
    const ask = (account: string | undefined, path = '/', code = shop.code('supported')) =>
      request(app)
        .get(path)
        .set({ 'x-purchase-code': code, ...(account && { account }) });
    return { ...shop, store, ask };
  }

  it('lets one customer in with a code, and says so on marketgate:guard', async () => {
    const { ask, code } = await open();
    const heard = hear('guard');
    await ask('anna').expect(200, { verdict: 'valid', item: 1042 });
    const refused = await ask('bert', '/', code('supported').toUpperCase()).expect(403);
    expect(refused.body).toMatchObject({ code: 'purchase_held', status: 403 });
    expect(refused.headers['cache-control']).toBe('no-store');
    await ask(undefined).expect(401);
    const again = await ask('anna').expect(200);
    expect(again.headers['cache-control']).toBe('private');
    expect(again.headers.vary).toContain('Cookie');
    expect(heard).toMatchObject([
      { allowed: true },
      { allowed: false, code: 'purchase_held' },
      { allowed: false, code: 'login_required' },
      { allowed: true },
    ]);
  });

  it.each([
    ['deny', 503, '/'],
    ['allow', 503, '/'],
    ['allow', 200, '/load'],
  ] as const)('a store in trouble, onUnknown: %s → %d at %s', async (onUnknown, status, path) => {
    const { store, take } = spiedStore();
    const onDenied = vi.fn((denial, _req, _res, next) => next(denial));
    const { ask } = await open({ onUnknown, onDenied }, store);
    take.mockRejectedValue(new Error('down'));
    const answer = await ask('anna', path).expect(status);
    if (status === 200) expect(answer.body).toMatchObject({ verdict: 'unknown' });
    else expect(answer.body).toMatchObject({ code: 'store_unavailable' });
    // Who is refused for another reason is not let in by it.
    expect((await ask(undefined, path)).body).not.toMatchObject({ verdict: 'unknown' });
    expect(onDenied).toHaveBeenCalledTimes(path === '/' ? 1 : 0);
  });
});

describe.each(expressVersions)('the option holder.id on %s', (_version, express) => {
  /** What a guard answers to a visitor with a valid code and this user. */
  async function ask(id: (req: Request) => unknown, user?: object) {
    const app = express();
    app.use((req, _res, next) => next(void Object.assign(req, { user })));
    const holder = { store: new MemoryHolderStore(), id } as HolderOptions<
      (req: Request) => string
    >;
    app.get('/', requirePurchase(serviceWith(purchase), { holder }), (_req, res) => {
      res.json({ code: 'valid' });
    });
    app.use(errorHandler({ log: false }));
    app.use((error: Error, _req: object, res: Response, _next: unknown) => {
      res.status(500).json({ code: error.message });
    });
    const { body } = await request(app).get('/').set('x-purchase-code', CODE);
    return body.code;
  }
  const userOf = (req: Request) => req.user as unknown as { id: string };

  it.each<[string, (req: Request) => unknown]>([
    ['throws', (req) => userOf(req).id],
    ['rejects', async (req) => userOf(req).id],
  ])('that reads req.user and %s is login_required without a user', async (_name, id) => {
    expect(await ask(id)).toBe('login_required');
    expect(await ask(id, { id: 'anna' })).toBe('valid');
  });

  it('that fails otherwise is an error of the app', async () => {
    expect(await ask(throwing(new Error('down')))).toBe('down');
    expect(await ask(throwing(new TypeError('bug')), { id: 'anna' })).toBe('bug');
  });
});

describe('the account, while the service is down', () => {
  const fail = throwing(new Error('no id'));
  it.each<[what: string, id: () => unknown, 'allow' | 'deny', error: string, denials: number]>([
    ['is enough where visitors are let in', () => 'anna', 'allow', '', 0],
    ['must be there', async () => null, 'allow', 'login_required', 1],
    ['that fails is an error', fail, 'allow', 'no id', 0],
    ['is not asked where nobody is let in', fail, 'deny', 'service_unavailable', 0],
  ])('%s', async (_what, id, onUnknown, expected, denials) => {
    const { store, take } = spiedStore();
    const { keyApi } = keyApiOn({ says: 'outage', override: () => page(503) });
    const onDenied = vi.fn((denial, _req, _res, next) => next(denial));
    const holder = { store, id } as never;
    const guard = requirePurchase(keyApi, { guessLimit: false, holder, onUnknown, onDenied });
    const req = { headers: { 'x-purchase-code': CODE } };
    const error = await new Promise<MarketgateError>((next) =>
      guard(req as never, fakeResponse(), next as never),
    );
    expect(error?.code ?? error?.message ?? '').toBe(expected);
    expect(onDenied).toHaveBeenCalledTimes(denials);
    expect(take).not.toHaveBeenCalled();
  });
});

describe('the options of holder', () => {
  const store = new MemoryHolderStore();
  const id = () => 'anna';
  const notThere = { take() {}, release() {} };

  it.each<[string, unknown]>([
    ['"holder" must be { store, id, max }', undefined],
    ['"holder" must be { store, id, max }', null],
    ['"holder" must be { store, id, max }', false],
    ['"holder" must be { store, id, max }', store.take],
    ['"holder.store" must be a holder store', {}],
    ['"holder.store" must be a holder store', { id, store: undefined }],
    [
      '"holder.store" must be a holder store, as in new MemoryHolderStore(); "holders" is missing',
      { id, store: notThere },
    ],
    ['"holder.id" must', { store }],
    ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '3', null].map(
      (max): [string, unknown] => [
        '"holder.max" must be a whole number, 1 or more',
        { store, id, max },
      ],
    ),
    ['holder: unknown option "seats"', { store, id, seats: 3 }],
  ])('%s', async (words, holder) => {
    const keyApi = serviceWith(purchase);
    const options = { holder, guessLimit: false } as never;
    for (const [owner, make] of Object.entries({ requirePurchase, loadPurchase })) {
      expect(() => make(keyApi, options)).toThrow(TypeError);
      expect(() => make(keyApi, options)).toThrow(`${owner}: `);
      expect(() => make(keyApi, options)).toThrow(words);
    }
    const check = checkPurchase(keyApi, CODE, options);
    await expect(check).rejects.toThrow(TypeError);
    await expect(check).rejects.toThrow(words);
  });

  it('a guard needs a function for the id: one id would be everybody', async () => {
    for (const each of ['anna', undefined]) {
      const options = { holder: { store, id: each } } as never;
      expect(() => requirePurchase(serviceWith(purchase), options)).toThrow(
        'requirePurchase: option "holder.id" must be a function',
      );
    }
  });
});

import type { Request, Response } from 'express';
import {
  type CheckPurchaseOptions,
  checkPurchase,
  type Decision,
  errorHandler,
  type GuardMessage,
  type HolderOptions,
  type HolderStore,
  loadPurchase,
  MarketgateError,
  MemoryHolderStore,
  type Purchase,
  type PurchaseValidator,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { everythingOf, throwing } from '../../support/errors.js';
import { expressVersions } from '../../support/express-versions.js';
import { hear } from '../../support/hear.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { page } from '../../support/service-in-memory.js';
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
  return checkPurchase(service as never, code, { client: false, holder, ...rest });
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

  it('knows a code in every spelling, and gives the store one', async () => {
    const { store, take } = spiedStore();
    const spellings = [CODE, CODE.toUpperCase(), ` ${CODE}\u200b`, CODE.replace('-', '\uff0d')];
    for (const [i, code] of spellings.entries()) {
      const expected = i === 0 ? 'valid' : 'purchase_held';
      await expectCodes([visit(store, `account ${i}`, { code })], expected);
    }
    expect(new Set(take.mock.calls.map(([code]) => code))).toEqual(new Set([CODE.toLowerCase()]));
  });

  it.each([
    ['names, because it can accept several spellings', ` ${CODE.toUpperCase()} `, 'purchase_held'],
    ['was sent, where the service masks the one in its answer', '****-1c2d', 'valid'],
    ['was sent, also where the mask is an ellipsis', '…1c2d', 'valid'],
  ])('is by the code that %s', async (_what, purchase_code, expected) => {
    const store = new MemoryHolderStore();
    const service = serviceWith({ ...purchase, purchase_code });
    const another = CODE.replaceAll('-', '');
    await expectCodes([visit(store, 'anna', {}, service)], 'valid');
    await expectCodes([visit(store, 'bert', { code: another }, service)], expected);
  });

  it('has as many holders as max, or as max gives by licence, also of any who come at once', async () => {
    const store = new MemoryHolderStore();
    const max = ({ license_type }: Purchase) => (license_type === 'Extended' ? 3 : 1);
    const extended = serviceWith({ ...purchase, license_type: 'Extended' });
    const visits = ['a', 'b', 'c', 'd'].map((id) => visit(store, id, { max }, extended));
    await expectCodes(visits, 'valid', 'valid', 'valid', 'purchase_held');
    const refused = await visit(store, 'd', { max }, extended);
    expect(refused).toMatchObject({ denial: { holders: { count: 3, max: 3 } } });
    const code = CODE.replace(/^./, 'f');
    const regular = ['a', 'b'].map((id) => visit(store, id, { max, code }));
    await expectCodes(regular, 'valid', 'purchase_held');
    const seats = ['a', 'b', 'c'].map((id) => visit(store, id, { max: 2, code }));
    await expectCodes(seats, 'valid', 'valid', 'purchase_held');
  });

  it.each<[string, Partial<CheckPurchaseOptions>, Purchase | null, string]>([
    ['no purchase', {}, null, 'purchase_code_invalid'],
    ['another item', { item: 7 }, purchase, 'purchase_item_mismatch'],
    ['the app, later', { accept: async () => false }, purchase, 'purchase_not_accepted'],
    ['no date', { supported: true }, { ...purchase, supported_until: 'x' }, 'unexpected_response'],
  ])('takes nothing for %s', async (_what, options, found, expected) => {
    const { store, take } = spiedStore();
    const service = serviceWith(found);
    // Also without an account: the other conditions come first.
    for (const id of ['anna', undefined]) {
      await expectCodes([visit(store, id, options, service)], expected);
    }
    expect(take).not.toHaveBeenCalled();
  });
});

it.each<[id: unknown, holder: string | undefined]>([
  ...[undefined, null, false, '', '  '].map((id): [unknown, undefined] => [id, undefined]),
  [7, '7'],
  [0, '0'],
  [12345678901234567890n, '12345678901234567890'],
  [' anna', ' anna'],
])('the id %o is the holder %j, or nobody: login_required', async (id, holder) => {
  const store = new MemoryHolderStore();
  const refusal = { verdict: 'invalid', denial: { code: 'login_required', status: 401 } };
  expect(await visit(store, id)).toMatchObject(holder ? { verdict: 'valid' } : refusal);
  expect(await store.holders(CODE)).toEqual(holder ? [holder] : []);
});

it.each<[string, unknown, object?]>([
  ['"holder.id" must give text', true],
  ['"holder.id" must give text', Promise.resolve('anna')],
  ['"holder.id" must give text', { id: 7 }],
  ['"holder.id" must give text, or a whole number up to 2^53 - 1', 2 ** 53],
  ['"holder.id" must give text, or a whole number up to 2^53 - 1', Number.NaN],
  ['"holder.id" must give text, or a whole number up to 2^53 - 1', 1.5],
  ['"holder.max" must be a whole number, 1 or more', 'anna', { max: () => 0 }],
  ['"holder.max" must be a whole number, 1 or more', 'anna', { max: async () => 1 }],
])('%s: %o, %o is a mistake of the app', async (words, id, options) => {
  const { store, take } = spiedStore();
  await expect(visit(store, id, options)).rejects.toThrow(words);
  expect(take).not.toHaveBeenCalled();
});

it.each<[string, () => unknown]>([
  ['rejects', () => Promise.reject(new Error(`no route to ${CODE}`))],
  ['rejects with one of ours', () => Promise.reject(new MarketgateError('login_required', CODE))],
  ['never answers', () => new Promise(() => {})],
  ['answers neither true nor false', async () => 1],
])('a holder store that %s is unavailable', async (_what, fail) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
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
});

it('a code that is held is refused also where the store cannot say how many hold it', async () => {
  const store = new MemoryHolderStore();
  vi.spyOn(store, 'holders').mockRejectedValue(new Error('down'));
  await visit(store, 'anna');
  const refused = await visit(store, 'bert');
  expect(refused).toMatchObject({
    denial: { code: 'purchase_held', holders: { count: 1, max: 1 } },
  });
});

const noUser = () => Promise.reject(new TypeError('no user'));

describe.each(expressVersions)('the option holder on %s', (_version, express) => {
  /** An app whose visitors say by a header which account is theirs. */
  function open(
    options: Partial<RequirePurchaseOptions> = {},
    store: HolderStore = new MemoryHolderStore(),
    keyApi: PurchaseValidator = anyCode,
  ) {
    const app = express();
    app.use((req, _res, next) => {
      const { account } = req.headers;
      next(void Object.assign(req, account && { user: { id: account } }));
    });
    // It throws where nobody is logged in, as many do.
    const id = (req: Request) => (req.user as { id: string }).id;
    const all = { holder: { store, id }, ...options };
    app.get('/', requirePurchase(keyApi, all), (req, res) => void res.json(req.marketplace));
    const { onUnknown: _, onDenied: __, ...loads } = all;
    app.get('/load', loadPurchase(keyApi, loads), (req, res) => void res.json(req.marketplace));
    app.use(errorHandler({ log: false }));
    app.use((error: Error, _req: object, res: Response, _next: unknown) => {
      res.status(500).json({ message: error.message });
    });
    return (account?: string, path = '/', code = CODE) =>
      request(app)
        .get(path)
        .set({ 'x-purchase-code': code, ...(account && { account }) });
  }

  it('lets one account in, in every spelling of the code, and tells marketgate:guard', async () => {
    const ask = open();
    const heard = hear<GuardMessage>('guard');
    expect((await ask('anna').expect(200)).body).toMatchObject({ verdict: 'valid' });
    const refused = await ask('bert', '/', CODE.toUpperCase()).expect(403);
    expect(refused.body).toMatchObject({ code: 'purchase_held', status: 403 });
    await ask().expect(401);
    await ask('anna').expect(200);
    const decisions = heard.map(({ allowed, code }) => code ?? allowed);
    expect(decisions).toEqual([true, 'purchase_held', 'login_required', true]);
  });

  it.each([
    ['deny', 503, '/'],
    ['allow', 503, '/'],
    ['allow', 200, '/load'],
  ] as const)('a store in trouble, onUnknown: %s → %d at %s', async (onUnknown, status, path) => {
    const { store, take } = spiedStore();
    const onDenied = vi.fn((denial, _req, _res, next) => next(denial));
    const ask = open({ onUnknown, onDenied }, store);
    take.mockRejectedValue(new Error('down'));
    const answer = await ask('anna', path).expect(status);
    if (status === 200) expect(answer.body).toMatchObject({ verdict: 'unknown' });
    else expect(answer.body).toMatchObject({ code: 'store_unavailable' });
    // A visitor who is refused for another reason is not let in by it.
    expect((await ask(undefined, path)).body).not.toMatchObject({ verdict: 'unknown' });
    expect(onDenied).toHaveBeenCalledTimes(path === '/' ? 1 : 0);
  });

  it.each<[string, () => unknown, string | undefined, object]>([
    ['gives the account later', async () => 'anna', undefined, { verdict: 'valid' }],
    ['rejects where nobody is logged in', noUser, undefined, { code: 'login_required' }],
    ['rejects for a user who is logged in', noUser, 'anna', { message: 'no user' }],
    ['fails otherwise', throwing(new Error('down')), undefined, { message: 'down' }],
  ])('an id that %s', async (_name, id, account, expected) => {
    const holder = { store: new MemoryHolderStore(), id: id as never };
    expect((await open({ holder })(account)).body).toMatchObject(expected);
  });

  it.each<[what: string, id: () => unknown, 'allow' | 'deny', body: object, denials: number]>([
    ['is enough where visitors are let in', () => 'anna', 'allow', { verdict: 'unknown' }, 0],
    ['must be there', async () => null, 'allow', { code: 'login_required' }, 1],
    ['is not asked for where nobody is let in', noUser, 'deny', { code: 'service_unavailable' }, 0],
  ])('while the service is down, the account %s', async (_what, id, onUnknown, body, denials) => {
    const { store, take } = spiedStore();
    const { keyApi } = keyApiOn({ override: () => page(503) });
    const onDenied = vi.fn((denial, _req, _res, next) => next(denial));
    const holder = { store, id } as never;
    const ask = open({ client: false, holder, onUnknown, onDenied }, store, keyApi);
    expect((await ask('anna')).body).toMatchObject(body);
    expect(onDenied).toHaveBeenCalledTimes(denials);
    expect(take).not.toHaveBeenCalled();
  });
});

import type { Request } from 'express';
import {
  type CheckPurchaseOptions,
  checkPurchase,
  type Decision,
  type HolderOptions,
  type HolderStore,
  MarketgateError,
  MemoryHolderStore,
  type Purchase,
  type PurchaseValidator,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { everythingOf, throwing } from '../../support/errors.js';
import { runMiddleware } from '../../support/fake-response.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { fakeTimers } from '../../support/later.js';
import { CODE, purchase as onTheWire } from '../../support/wire.js';

const purchase = onTheWire as Purchase;
const serviceWith = (found: Purchase | null) => ({ validatePurchase: async () => found });
/** A service in which every code is valid. */
const anyCode = {
  validatePurchase: async (code: string) => ({ ...purchase, purchase_code: code }),
};

type Visit = Partial<CheckPurchaseOptions> & {
  max?: HolderOptions<unknown>['max'];
  code?: unknown;
};

/** The decision for an account that comes with a valid code. */
const visit = (
  store: HolderStore,
  id: unknown,
  { code = CODE, max, ...options }: Visit = {},
  service: object = anyCode,
): Promise<Decision> => {
  const holder = { store, id, max } as never;
  return checkPurchase(service as never, code, { client: false, holder, ...options });
};

/** The visits, which begin at once, end with these codes; "valid" without one. */
async function expectCodes(visits: Promise<Decision>[], ...codes: string[]): Promise<void> {
  const ends = (await Promise.all(visits)).map((decision) => {
    if (decision.verdict === 'valid') return 'valid';
    return decision.verdict === 'unknown' ? decision.error.code : decision.denial.code;
  });
  expect(ends).toEqual(codes);
}

/** A store that counts what is taken. */
function spiedStore() {
  const store = new MemoryHolderStore();
  return { store, take: vi.spyOn(store, 'take') };
}

describe('one code, one customer', () => {
  it('lets the first in, and refuses all others with the purchase, also where the store cannot count', async () => {
    const store = new MemoryHolderStore();
    expect(await visit(store, 'anna')).toEqual({ verdict: 'valid', purchase });
    for (const _twice of [1, 2]) {
      const denial = { code: 'purchase_held', purchase, holders: { count: 1, max: 1 } };
      expect(await visit(store, 'bert')).toMatchObject({ verdict: 'invalid', denial });
      vi.spyOn(store, 'holders').mockRejectedValue(new Error('down'));
    }
    await expectCodes([visit(store, 'anna')], 'valid');
  });

  it.each([
    ['names, because it can accept several spellings', ` ${CODE.toUpperCase()} `, 'purchase_held'],
    ['was sent, where the service masks the one in its answer', '****-1c2d', 'valid'],
  ])('is by the code that %s', async (_what, purchase_code, expected) => {
    const { store, take } = spiedStore();
    const service = serviceWith({ ...purchase, purchase_code });
    await expectCodes([visit(store, 'anna', { code: CODE.toUpperCase() }, service)], 'valid');
    expect(take.mock.lastCall?.[0]).toBe(CODE);
    const another = CODE.replaceAll('-', '');
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
    await expectCodes([visit(store, 'b', { max: 2, code })], 'valid');
    const later = visit(store, 'c', { max: (async () => 3) as never });
    await expect(later).rejects.toThrow('"holder.max" must be a whole number');
  });

  it.each<[string, Partial<CheckPurchaseOptions>, Purchase | null, string]>([
    ['no purchase', {}, null, 'purchase_code_invalid'],
    ['the app, later', { accept: async () => false }, purchase, 'purchase_not_accepted'],
    ['no date', { supported: true }, { ...purchase, supported_until: 'x' }, 'unexpected_response'],
  ])('takes nothing for %s', async (_what, options, found, expected) => {
    const { store, take } = spiedStore();
    // Also without an account: the other conditions come first.
    for (const id of ['anna', undefined]) {
      await expectCodes([visit(store, id, options, serviceWith(found))], expected);
    }
    expect(take).not.toHaveBeenCalled();
  });
});

it('the id of an account is text, a whole number or a bigint; nothing, false and blank text are nobody', async () => {
  const store = new MemoryHolderStore();
  for (const id of [undefined, null, false, ' ']) {
    await expectCodes([visit(store, id)], 'login_required');
  }
  for (const id of [0, 2n ** 64n, ' anna']) {
    await expectCodes([visit(store, id, { max: 3 })], 'valid');
  }
  expect(await store.holders(CODE)).toEqual(['0', '18446744073709551616', ' anna']);
});

it.each<[says: string, id: unknown, visit?: Visit]>([
  ['"holder.id" must give text', true],
  ['"holder.id" must give text', { id: 7 }],
  ['"holder.id" must give text', 2 ** 53],
  ['"holder.max" must be', 'anna', { max: () => 0 }],
])('%s: %o, %o is a mistake of the app, and takes nothing', async (says, id, options) => {
  const { store, take } = spiedStore();
  await expect(visit(store, id, options)).rejects.toThrow(says);
  expect(take).not.toHaveBeenCalled();
});

it('a holder store that never answers is unavailable after two seconds', async () => {
  fakeTimers();
  const { store, take } = spiedStore();
  take.mockReturnValueOnce(new Promise(() => {}));
  const ended = vi.fn();
  const decision = visit(store, 'anna').finally(ended);
  await vi.advanceTimersByTimeAsync(1999);
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toHaveBeenCalledOnce();
  const error = { code: 'store_unavailable', status: 503 };
  expect(await decision).toMatchObject({ verdict: 'unknown', error });
});

it.each<[string, () => unknown]>([
  ['rejects with one of ours', () => Promise.reject(new MarketgateError('login_required', CODE))],
  ['answers neither true nor false', async () => 1],
])('a holder store that %s is unavailable, and lets nobody in', async (_what, fail) => {
  const { store, take } = spiedStore();
  take.mockImplementationOnce(fail as never);
  const decision = await visit(store, 'anna');
  const message = expect.stringMatching(/^holder\.store\.take (failed|gave neither)/);
  const error = { code: 'store_unavailable', status: 503, message };
  expect(decision).toMatchObject({ verdict: 'unknown', error });
  expect(everythingOf((decision as { error: unknown }).error)).not.toContain(CODE);
  await expectCodes([visit(store, 'anna')], 'valid');
  take.mockImplementationOnce(fail as never);
  const options = { holder: { store, id: () => 'anna' }, onUnknown: 'allow' } as const;
  const guard = requirePurchase(anyCode, options);
  const { error: passed } = await runMiddleware(guard, { headers: { 'x-purchase-code': CODE } });
  expect(passed).toMatchObject({ code: 'store_unavailable' });
});

const noUser = () => Promise.reject(new TypeError('no user'));

describe('the option holder of a guard', () => {
  /** What a guard makes of a visitor with this account: what it passes to `next`, or what it has found. */
  async function guarded(
    options: Partial<RequirePurchaseOptions>,
    account: string | undefined,
    keyApi: PurchaseValidator = anyCode,
  ) {
    const user = account && { id: account };
    const req = { headers: { 'x-purchase-code': CODE }, ...(user && { user }) };
    const { error, found } = await runMiddleware(requirePurchase(keyApi, options), req);
    return error ?? found;
  }

  it.each<[string, (req: Request) => unknown, string | undefined, object]>([
    ['is that of a user', async ({ user }) => user?.id, 'anna', { verdict: 'valid' }],
    ['throws where nobody is logged in', noUser, undefined, { code: 'login_required' }],
    ['rejects for a user who is logged in', noUser, 'anna', { message: 'no user' }],
    ['fails otherwise', throwing(new Error('down')), undefined, { message: 'down' }],
  ])('has an id that %s', async (_name, id, account, expected) => {
    const holder = { store: new MemoryHolderStore(), id: id as never };
    expect(await guarded({ holder }, account)).toMatchObject(expected);
  });

  it.each<[what: string, id: () => unknown, 'allow' | 'deny', expected: object]>([
    ['is enough where visitors are let in', () => 'anna', 'allow', { verdict: 'unknown' }],
    ['must be there', async () => null, 'allow', { code: 'login_required' }],
    ['is not asked for where nobody is let in', noUser, 'deny', { code: 'service_unavailable' }],
  ])('while the service is down, the account %s', async (_what, id, onUnknown, expected) => {
    const { store, take } = spiedStore();
    const { keyApi } = keyApiOn({ says: 'outage' });
    const options = { client: false, holder: { store, id: id as never }, onUnknown } as const;
    expect(await guarded(options, 'anna', keyApi)).toMatchObject(expected);
    expect(take).not.toHaveBeenCalled();
  });
});

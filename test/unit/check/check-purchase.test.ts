import {
  type CheckPurchaseOptions,
  checkPurchase,
  MarketgateError,
  type Purchase,
  problemOf,
} from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { everythingOf } from '../../support/errors.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { json } from '../../support/service-in-memory.js';
import { hearWarnings } from '../../support/warnings.js';
import { CODE, guess, purchase as onTheWire, success } from '../../support/wire.js';

const purchase = onTheWire as Purchase;
const NOW = Date.parse('2026-06-01T12:00:00Z');
const client = 'anna';

/** A decision about what was sent, by a service that has this purchase. */
const decide = (
  found: Purchase | null,
  options: Partial<CheckPurchaseOptions> = {},
  sent: unknown = CODE,
) =>
  checkPurchase({ validatePurchase: async () => found, clock: () => NOW }, sent, {
    client,
    ...options,
  });
const denied = (code: string) =>
  expect.objectContaining({ verdict: 'invalid', denial: expect.objectContaining({ code }) });

it.each<[string, unknown, string, string]>([
  ['nothing', undefined, 'absent', 'purchase_required'],
  ['a blank', ' ', 'absent', 'purchase_required'],
  ['a field sent twice, and both blank', ['', ' '], 'absent', 'purchase_required'],
  ['two codes', [CODE, 'another-code'], 'invalid', 'purchase_code_invalid'],
  ['an object', { code: CODE }, 'invalid', 'purchase_code_invalid'],
  ['three letters', 'abc', 'invalid', 'purchase_code_invalid'],
])('a code that is %s is refused, and the service is not asked', async (...row) => {
  const [, sent, verdict, code] = row;
  const keyApi = { validatePurchase: vi.fn() };
  const denial = expect.objectContaining({ code });
  expect(await checkPurchase(keyApi, sent, { client })).toStrictEqual({ verdict, denial });
  expect(keyApi.validatePurchase).not.toHaveBeenCalled();
});

it.each([
  ['as a paste left it', `"${CODE}".`, CODE],
  ['in a list of one', [CODE], CODE],
  ['in a field that was sent twice, once empty', ['', CODE], CODE],
  ['in a field that was sent twice, the same', [CODE, CODE], CODE],
])('a code %s is asked about', async (_name, sent, asked) => {
  const keyApi = { validatePurchase: vi.fn(async () => purchase) };
  expect((await checkPurchase(keyApi, sent, { client })).verdict).toBe('valid');
  expect(keyApi.validatePurchase).toHaveBeenCalledWith(asked, expect.anything());
});

it.each<[what: string, sent: unknown, detail: RegExp]>([
  ['too long', 'x'.repeat(129), /longer than a purchase code/],
  ['too short', 'abc', /copied the whole code/],
  ['in other letters', 'späces-are-bad', /characters that no purchase code has/],
  ['several values', [CODE, 'another'], /enter it once/],
])('a code that is %s is refused in words that fit', async (_what, sent, detail) => {
  const decision = await decide(purchase, {}, sent);
  const { denial } = decision as Extract<typeof decision, { verdict: 'invalid' }>;
  expect(problemOf(denial).detail).toMatch(detail);
  expect(problemOf(denial).detail.includes('whole code')).toBe(sent === 'abc');
});

it('a code that is several values, or no text, is said to the operator once', async () => {
  const warnings = hearWarnings();
  for (const sent of [[CODE], ['', CODE], [CODE, 'another'], 7, {}]) await decide(null, {}, sent);
  expect(warnings).toEqual(['MARKETGATE_CODE_NOT_TEXT']);
});

it.each([{}, 2 ** 53, true])(
  'a client that is %j is a TypeError, also where the cache answers',
  async (client) => {
    const { keyApi } = keyApiOn();
    for (let n = 0; n < 2; n++) {
      const call = { client: client as never };
      await expect(checkPurchase(keyApi, CODE, call)).rejects.toThrow('option "client" must give');
      await expect(keyApi.validatePurchase(CODE, call)).rejects.toThrow('option "client"');
      await expect(keyApi.getItem(1042, call)).rejects.toThrow('option "client"');
      await keyApi.validatePurchase(CODE);
      await keyApi.getItem(1042);
    }
  },
);

describe('checkPurchase', () => {
  it.each(['api_key_rejected', 'service_unavailable', 'service_refused'] as const)(
    'is unknown where the service could not tell: %s',
    async (code) => {
      const error = new MarketgateError(code, 'x');
      const keyApi = { validatePurchase: () => Promise.reject(error) };
      const decision = await checkPurchase(keyApi, CODE, { client });
      expect(decision).toStrictEqual({ verdict: 'unknown', error });
    },
  );

  it('rejects with any other error, which is none of the service', async () => {
    const keyApi = { validatePurchase: () => Promise.reject(new Error('mine')) };
    await expect(checkPurchase(keyApi, CODE, { client })).rejects.toThrow('mine');
    const accept = () => Promise.reject(new MarketgateError('service_unavailable', 'mine'));
    await expect(decide(purchase, { accept })).rejects.toThrow('mine');
  });

  it('goes by the conditions that its options inherit, or have as getters', async () => {
    class Conditions {
      readonly client = client;
      get item() {
        return 7;
      }
    }
    for (const options of [Object.create({ client, item: 7 }), new Conditions()]) {
      const keyApi = { validatePurchase: async () => purchase };
      expect(await checkPurchase(keyApi, CODE, options)).toEqual(denied('purchase_item_mismatch'));
    }
  });

  it.each(['anna', false] as const)('ends with its signal (client: %s)', async (client) => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const { keyApi, service } = keyApiOn({ says: 'silence' });
    const options = { client, signal };
    const decision = checkPurchase(keyApi, CODE, options);
    await vi.waitFor(() => expect(service.asked('all')).toBe(1), { timeout: 40_000 });
    leaving.abort(new MarketgateError('service_unavailable', 'left'));
    await expect(decision).rejects.toThrow('left');
    // Aborted before it begins, it sends nothing, and says nothing about a code.
    for (const code of [guess(1), 'malformed!', undefined]) {
      await expect(checkPurchase(keyApi, code, options)).rejects.toThrow('left');
    }
    expect(service.asked('all')).toBe(1);
  });

  it('asks the service once, and again where it is told to', async () => {
    const { keyApi, service } = keyApiOn();
    const calls = [];
    for (const fresh of [undefined, false, () => false, true, async () => true]) {
      expect((await checkPurchase(keyApi, CODE, { client, fresh })).verdict).toBe('valid');
      calls.push(service.asked());
    }
    expect(calls).toEqual([1, 1, 1, 2, 3]);
  });

  it('counts all clients that are not known as one', async () => {
    const { keyApi } = keyApiOn({ says: 'negative' }, { guessLimit: { limit: 1 } });
    const ends = [];
    for (const code of [guess(1), guess(2)]) {
      ends.push(await checkPurchase(keyApi, code, { client: undefined }));
    }
    expect(ends).toMatchObject([{ verdict: 'invalid' }, { error: { code: 'too_many_attempts' } }]);
  });
});

it.each<[string, Partial<CheckPurchaseOptions>]>([
  ['purchase_item_mismatch', { item: 7 }],
  ['license_type_mismatch', { licenseType: 'Extended' }],
  ['support_expired', { supported: true }],
  ['purchase_not_accepted', { accept: () => false }],
])('the denial %s has the purchase with it, and shows it to nobody', async (code, options) => {
  const decision = await decide({ ...purchase, supported_until: '2001-01-01' }, options);
  const { denial } = decision as Extract<typeof decision, { verdict: 'invalid' }>;
  expect(denial).toMatchObject({ code, status: 403 });
  expect(denial.purchase).toMatchObject({ purchase_code: CODE, item: { id: 1042 } });
  expect(Object.keys(denial)).not.toContain('purchase');
  expect(everythingOf(denial)).not.toContain(CODE);
});

describe('the condition "supported"', () => {
  const until = (supported_until: unknown) =>
    decide({ ...purchase, supported_until } as Purchase, { supported: true });

  it.each<[end: string | null | undefined, isMet: boolean]>([
    ['2026-06-01T12:00:01Z', true],
    ['2026-06-01T12:00:00Z', false],
    ['2026-06-02', true],
    ['', false],
    [undefined, false],
    // Where a wrapper of a KeyApi gives what was sent.
    [null, false],
  ])('until %s is met at noon of 1 June, UTC: %s', async (end, isMet) => {
    const decision = await until(end);
    if (isMet) expect(decision.verdict).toBe('valid');
    else expect(decision).toEqual(denied('support_expired'));
  });

  it('goes by the present of the machine where the client has no clock', async () => {
    vi.spyOn(Date, 'now').mockReturnValue(Date.parse('2031-01-01T00:00:00Z'));
    const keyApi = { validatePurchase: async () => purchase };
    const decision = await checkPurchase(keyApi, CODE, { client, supported: true });
    expect(decision).toEqual(denied('support_expired'));
  });

  it('is none when it is false', async () => {
    const { supported_until: _, ...never } = purchase;
    expect((await decide(never as Purchase, { supported: false })).verdict).toBe('valid');
  });
});

it.each<[string, Partial<CheckPurchaseOptions>, refusal?: string]>([
  ['the item', { item: 1042 }],
  ['one of several items', { item: [7, 1042] }],
  ['one of several items of a function, later', { item: async () => [0, 1042] }],
  ['the licence', { licenseType: 'Regular' }],
  ['one of several licences', { licenseType: ['Extended', 'Regular'] }],
  ['the app accepts', { accept: ({ price = 0 }) => price > 0 }],
  ['none of several items', { item: [7, 8] }, 'purchase_item_mismatch'],
  ['no item at all', { item: () => [] }, 'purchase_item_mismatch'],
  ['what is no item', { item: () => Number.NaN }, 'item_id_invalid'],
  ['one of several in digits', { item: (() => [7, '1042']) as never }, 'item_id_invalid'],
  ['the licence in other letters', { licenseType: 'rEGULAR' }],
  ['another licence', { licenseType: 'Regular 2' }, 'license_type_mismatch'],
  ['the app refuses later', { accept: async () => false }, 'purchase_not_accepted'],
  ['the app says 1', { accept: () => 1 as never }, 'purchase_not_accepted'],
])('the other conditions: %s', async (_name, options, refusal) => {
  const valid = { verdict: 'valid', purchase };
  expect(await decide(purchase, options)).toStrictEqual(refusal ? denied(refusal) : valid);
});

describe('a condition that needs a field which cannot be read', () => {
  const SUPPORTED = { supported: true };
  const LICENSED = { licenseType: 'Regular' };
  const UNREADABLE: [string, unknown, Partial<CheckPurchaseOptions>][] = [
    ['supported_until', 'never', SUPPORTED],
    ['supported_until', 1_830_297_600, SUPPORTED],
    ['license_type', { name: 'Regular' }, LICENSED],
    ['license_type', '', LICENSED],
    ['license_type', undefined, LICENSED],
  ];

  /** The decision about a purchase that the service sends like this, when asked and from the cache. */
  async function sentAs(sent: object, options: Partial<CheckPurchaseOptions>) {
    const purchase = { ...onTheWire, ...sent };
    const { keyApi } = keyApiOn({ override: () => json(success({ data: { purchase } })) });
    const decision = await checkPurchase(keyApi, CODE, { client, ...options });
    expect(await checkPurchase(keyApi, CODE, { client, ...options })).toEqual(decision);
    return decision;
  }

  it.each(UNREADABLE)(
    '%s %j is neither met nor refused, also where a wrapper gives it',
    async (...row) => {
      const [field, sent, needs] = row;
      const wrapped = await decide({ ...purchase, [field]: sent } as Purchase, needs);
      for (const decision of [await sentAs({ [field]: sent }, needs), wrapped]) {
        expect(decision).toMatchObject({
          verdict: 'unknown',
          error: { code: 'unexpected_response', message: expect.stringContaining(field) },
        });
      }
    },
  );

  it('reads a zero date as no support', async () => {
    const decision = await sentAs({ supported_until: '0000-00-00 00:00:00' }, SUPPORTED);
    expect(decision).toEqual(denied('support_expired'));
  });
});

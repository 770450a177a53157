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
const denialOf = async (decision: ReturnType<typeof decide>) => {
  const { denial } = (await decision) as Extract<Awaited<typeof decision>, { verdict: 'invalid' }>;
  return denial;
};

it.each<[string, unknown, code: string, detail: RegExp]>([
  ['nothing', undefined, 'purchase_required', /enter your purchase code/],
  ['sent twice, and blank', ['', ' '], 'purchase_required', /enter your purchase code/],
  ['two codes', [CODE, 'another-code'], 'purchase_code_invalid', /enter it once/],
  ['an object', { code: CODE }, 'purchase_code_invalid', /enter it once/],
  ['three letters', 'abc', 'purchase_code_invalid', /copied the whole code/],
  ['too long', 'x'.repeat(129), 'purchase_code_invalid', /longer than a purchase code/],
  ['in other letters', 'späces-are-bad', 'purchase_code_invalid', /characters that no/],
])('a code that is %s is refused without a call, in words that fit', async (...row) => {
  const [, sent, code, detail] = row;
  const keyApi = { validatePurchase: vi.fn() };
  const decision = checkPurchase(keyApi, sent, { client });
  const verdict = code === 'purchase_required' ? 'absent' : 'invalid';
  expect(await decision).toStrictEqual({ verdict, denial: expect.objectContaining({ code }) });
  expect(problemOf(await denialOf(decision)).detail).toMatch(detail);
  expect(keyApi.validatePurchase).not.toHaveBeenCalled();
});

it.each([
  ['as a paste left it', `"${CODE}".`],
  ['in a list of one', [CODE]],
  ['in a field that was sent three times, once empty', ['', CODE, CODE]],
])('a code %s is asked about', async (_name, sent) => {
  const keyApi = { validatePurchase: vi.fn(async () => purchase) };
  expect((await checkPurchase(keyApi, sent, { client })).verdict).toBe('valid');
  expect(keyApi.validatePurchase).toHaveBeenCalledWith(CODE, expect.anything());
});

it('a code that is several values, or no text, is said to the operator once', async () => {
  const warnings = hearWarnings();
  for (const sent of [[CODE], ['', CODE]]) await decide(null, {}, sent);
  expect(warnings).toEqual([]);
  for (const sent of [[CODE, 'another'], 7, {}]) await decide(null, {}, sent);
  expect(warnings).toEqual(['MARKETGATE_CODE_NOT_TEXT']);
});

it('a client that is no id is a TypeError, also where the cache answers', async () => {
  const { keyApi } = keyApiOn();
  const call = { client: 2 ** 53 };
  for (const _cached of [false, true]) {
    await expect(checkPurchase(keyApi, CODE, call)).rejects.toThrow('option "client" must give');
    await expect(keyApi.validatePurchase(CODE, call)).rejects.toThrow('option "client"');
    await expect(keyApi.getItem(1042, call)).rejects.toThrow('option "client"');
    await Promise.all([keyApi.validatePurchase(CODE), keyApi.getItem(1042)]);
  }
});

describe('checkPurchase', () => {
  it('is unknown where the service could not tell, and rejects with any other error', async () => {
    // As a wrapper that has swallowed an error gives it.
    const swallowed = await decide(undefined as never);
    expect(swallowed).toMatchObject({ error: { code: 'unexpected_response' } });
    const error = new MarketgateError('service_refused', 'x');
    const failing = (error: Error) =>
      checkPurchase({ validatePurchase: () => Promise.reject(error) }, CODE, { client });
    expect(await failing(error)).toStrictEqual({ verdict: 'unknown', error });
    await expect(failing(new Error('mine'))).rejects.toThrow('mine');
    const accept = () => Promise.reject(new MarketgateError('service_unavailable', 'mine'));
    await expect(decide(purchase, { accept })).rejects.toThrow('mine');
  });

  it('ends with its signal', async () => {
    const leaving = new AbortController();
    const options = { client, signal: leaving.signal };
    const { keyApi, service } = keyApiOn({ says: 'silence' });
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

  it.each<[string, false | undefined, object]>([
    ['all clients that are not known as one', undefined, { error: { code: 'too_many_attempts' } }],
    ['nobody, where the client is false', false, { verdict: 'invalid' }],
  ])('counts %s', async (_whom, client, second) => {
    const { keyApi } = keyApiOn({ says: 'negative' }, { guessLimit: { limit: 1 } });
    const ends = [];
    for (const code of [guess(1), guess(2)])
      ends.push(await checkPurchase(keyApi, code, { client }));
    expect(ends).toMatchObject([{ verdict: 'invalid' }, second]);
  });
});

it.each<[string, Partial<CheckPurchaseOptions>, refusal?: string]>([
  ['the item', { item: 1042 }],
  ['one of several items of a function, later', { item: async () => [0, 1042] }],
  ['one of several licences, in other letters', { licenseType: ['Extended', 'rEGULAR'] }],
  ['the app accepts', { accept: ({ price = 0 }) => price > 0 }],
  ['none of several items', { item: [7, 8] }, 'purchase_item_mismatch'],
  ['no item at all', { item: () => [] }, 'purchase_item_mismatch'],
  ['what is no item', { item: () => Number.NaN }, 'item_id_invalid'],
  ['another licence', { licenseType: 'Regular 2' }, 'license_type_mismatch'],
  ['no support', { supported: true }, 'support_expired'],
  ['the app refuses later', { accept: async () => false }, 'purchase_not_accepted'],
  ['the app says 1', { accept: () => 1 as never }, 'purchase_not_accepted'],
])('the conditions of a purchase, whose denial shows it to nobody: %s', async (...row) => {
  const [, options, refusal] = row;
  const { supported_until: _, ...unsupported } = purchase;
  const decision = decide(unsupported as Purchase, options);
  if (refusal === undefined) {
    expect(await decision).toStrictEqual({ verdict: 'valid', purchase: unsupported });
    return;
  }
  const denial = await denialOf(decision);
  expect(await decision).toStrictEqual({ verdict: 'invalid', denial });
  expect(denial.code).toBe(refusal);
  expect(denial.purchase).toEqual(refusal === 'item_id_invalid' ? undefined : unsupported);
  expect(Object.keys(denial)).not.toContain('purchase');
  expect(everythingOf(denial)).not.toContain(CODE);
});

it('the condition "supported" goes by the clock of the KeyApi, or by the machine’s', async () => {
  const until = (supported_until: unknown) =>
    decide({ ...purchase, supported_until } as Purchase, { supported: true });
  expect((await until('2026-06-01T12:00:01Z')).verdict).toBe('valid');
  // Null where a wrapper of a KeyApi gives what was sent.
  for (const end of ['2026-06-01T12:00:00Z', '', null]) {
    expect(await until(end)).toEqual(denied('support_expired'));
  }
  const { keyApi } = keyApiOn({}, { clock: undefined });
  const wrapper = { validatePurchase: async () => purchase };
  // As a test does it that fakes dates when everything is made.
  vi.spyOn(Date, 'now').mockReturnValue(Date.parse('2031-01-01T00:00:00Z'));
  for (const each of [keyApi, wrapper]) {
    const decision = await checkPurchase(each, CODE, { client, supported: true });
    expect(decision).toEqual(denied('support_expired'));
  }
});

it.each<[string, unknown, Partial<CheckPurchaseOptions>]>([
  ['supported_until', 'never', { supported: true }],
  ['supported_until', 1_830_297_600, { supported: true }],
  ['license_type', { name: 'Regular' }, { licenseType: 'Regular' }],
  ['license_type', '', { licenseType: 'Regular' }],
])('a condition that needs a %s that is %j is neither met nor refused', async (...row) => {
  const [field, sent, needs] = row;
  const odd = { ...purchase, [field]: sent } as Purchase;
  const { keyApi } = keyApiOn({ override: () => json(success({ data: { purchase: odd } })) });
  // When asked, from the cache, and where a wrapper gives it.
  const asked = () => checkPurchase(keyApi, CODE, { client, ...needs });
  for (const decision of [await asked(), await asked(), await decide(odd, needs)]) {
    expect(decision).toMatchObject({
      verdict: 'unknown',
      error: { code: 'unexpected_response', message: expect.stringContaining(field) },
    });
  }
});

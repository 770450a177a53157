import { describe, expect, it } from 'vitest';
import { expectError } from '../../support/errors.js';
import { ACCOUNT, KeyApiService, settle } from '../../support/key-api-service.js';
import { json, page, type Reply } from '../../support/service-in-memory.js';
import { CODE, KEY, refusal, success } from '../../support/wire.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** A service that knows some keys and no code, and a client without a cache whose key can change. */
function shop(...known: string[]) {
  const service = new KeyApiService({ says: 'negative', keys: new Set(known) });
  const key = { now: KEY };
  const keyApi = service.client({ apiKey: () => key.now, cache: false });
  return {
    service,
    key,
    keyApi,
    /** How the lookup of a wrong code ends. */
    lookup: (code = CODE): Promise<string> =>
      keyApi.validatePurchase(code).then(
        (found) => (found === null ? 'negative' : 'positive'),
        (error) => error.code,
      ),
    checks: () => service.asked(ACCOUNT),
  };
}

describe('the api_key, before its first negative answer is believed,', () => {
  it('is checked: an unknown one does not turn every code invalid', async () => {
    const { keyApi } = shop();
    for (const call of [keyApi.validatePurchase(CODE), keyApi.getItem(1), keyApi.listItems()]) {
      await expectError(call, 'api_key_rejected');
    }
  });

  it('is checked once for concurrent lookups, also when the caller that began the check leaves', async () => {
    const { keyApi, lookup, checks } = shop(KEY);
    const leaving = new AbortController();
    const left = keyApi.validatePurchase('wrong-code', { signal: leaving.signal });
    const others = Array.from({ length: 20 }, (_, i) => lookup(`wrong-code-${i}`));
    await settle();
    leaving.abort(new Error('left'));
    await left.catch(() => {});
    expect(await Promise.all(others)).toEqual(Array(20).fill('negative'));
    expect(await lookup()).toBe('negative');
    expect(checks()).toBe(1);
  });

  it('is checked for each key: a rotated one on its own', async () => {
    const { service, key, lookup, checks } = shop(KEY);
    await lookup();
    key.now = 'b2'.repeat(32);
    expect(await lookup()).toBe('api_key_rejected');
    service.keys?.add(key.now);
    service.now += 5 * SECOND;
    expect(await lookup()).toBe('negative');
    expect(checks()).toBe(3);
  });

  it.each<[unknown, string]>([
    [success({ data: { username: 'ada', balance: '1.234,50', profile: 'none' } }), 'negative'],
    [success({ data: { username: '' } }), 'unexpected_response'],
    [undefined, 'unexpected_response'],
  ])('is known by an account with a username, and nothing else: %j', async (body, end) => {
    const { service, lookup, checks } = shop(KEY);
    const answer = body === undefined ? page(503) : json(body);
    service.override = ({ path }) => (path === ACCOUNT ? answer : undefined);
    expect(await lookup()).toBe(end);
    // Then it is known, or checked anew.
    service.override = undefined;
    expect(await lookup()).toBe('negative');
    expect(checks()).toBe(end === 'negative' ? 1 : 2);
  });
});

describe('the check of the key', () => {
  it('is remembered for 5 minutes, and a rejection for 5 seconds: a repaired shop is back soon', async () => {
    for (const [age, ...known] of [[5 * MINUTE, KEY] as const, [5 * SECOND] as const]) {
      const { service, lookup, checks } = shop(...known);
      const end = await lookup();
      service.now += age - 1;
      expect(await lookup()).toBe(end);
      expect(checks()).toBe(1);
      service.now += 1;
      await lookup();
      expect(checks()).toBe(2);
    }
  });

  it('is that of getAccount, where the app has called it', async () => {
    const { keyApi, lookup, checks } = shop(KEY);
    await keyApi.getAccount();
    expect(await lookup()).toBe('negative');
    expect(checks()).toBe(1);
  });
});

it.each(['INVALID request', 'This key was revoked'])(
  'a refusal of a code in the words "%s" is service_refused, unless account/details rejects the key',
  async (words) => {
    const { service, keyApi, lookup, checks } = shop(KEY);
    let account: Reply | undefined = page(503);
    service.override = ({ path }) => (path === ACCOUNT ? account : json(refusal(words), 401));
    await expectError(keyApi.validatePurchase(CODE), 'service_refused', words);
    account = undefined;
    expect(await lookup()).toBe('service_refused');
    service.keys?.clear();
    service.now += 5 * SECOND - 1;
    expect(await lookup()).toBe('service_refused');
    expect(checks()).toBe(2);
    service.now += 1;
    expect(await lookup()).toBe('api_key_rejected');
  },
);

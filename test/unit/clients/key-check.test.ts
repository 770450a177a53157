import { describe, expect, it } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { ACCOUNT, begun, KeyApiService, settle } from '../../support/key-api-service.js';
import { json, page } from '../../support/service-in-memory.js';
import { CODE, KEY, refusal, success } from '../../support/wire.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const OTHER_KEY = 'b2'.repeat(32);

const endOf = (call: Promise<unknown>) =>
  call.then(
    (found) => (found === null ? 'negative' : 'positive'),
    (error) => error.code,
  );

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
    lookup: (code = CODE) => endOf(keyApi.validatePurchase(code)),
    checks: () => service.asked(ACCOUNT),
  };
}

describe('the api_key, before its first negative answer is believed,', () => {
  it('is checked: an unknown one does not turn every code invalid', async () => {
    const { keyApi } = shop();
    const error = await rejection(keyApi.validatePurchase(CODE));
    expect(error).toMatchObject({ code: 'api_key_rejected', status: 500 });
    await expectError(keyApi.getItem(1), 'api_key_rejected');
    await expectError(keyApi.listItems(), 'api_key_rejected');
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

  it('is checked for each key: a rotated one is checked on its own, and only the last is remembered', async () => {
    const { service, key, lookup, checks } = shop(KEY);
    await lookup();
    key.now = OTHER_KEY;
    expect(await lookup()).toBe('api_key_rejected');
    service.keys?.add(OTHER_KEY);
    key.now = KEY;
    expect(await lookup()).toBe('negative');
    await lookup();
    expect(checks()).toBe(3);
  });

  it.each<[unknown, number, string]>([
    [{ data: { username: 'ada', balance: '1.234,50', profile: 'none' } }, 200, 'negative'],
    [{ data: {} }, 200, 'unexpected_response'],
    [{ data: { username: '' } }, 200, 'unexpected_response'],
    [{}, 200, 'unexpected_response'],
    [{ data: {} }, 503, 'unexpected_response'],
    [refusal('Maintenance'), 200, 'unexpected_response'],
  ])(
    'is known by an account with a username, and nothing else: %j, HTTP %i',
    async (body, status, end) => {
      const { service, lookup, checks } = shop(KEY);
      const answer = json(success(body as object), status);
      service.override = ({ path }) => (path === ACCOUNT ? answer : undefined);
      expect(await lookup()).toBe(end);
      // Then it is known, or checked anew.
      service.override = undefined;
      service.now += MINUTE;
      expect(await lookup()).toBe('negative');
      expect(checks()).toBe(end === 'negative' ? 1 : 2);
    },
  );
});

describe('the check of the key', () => {
  // Ages count from its answer; 1 s passes until that comes.
  it.each<[string, string[], number, number]>([
    ['is remembered for 5 minutes', [KEY], 5 * MINUTE - 1, 1],
    ['is made again after them', [KEY], 5 * MINUTE, 2],
    ['is remembered for 5 seconds when the key was rejected', [], 5 * SECOND - 1, 1],
    ['is made again after that, so that a repaired shop is back soon', [], 5 * SECOND, 2],
  ])('%s', async (_name, known, age, checks) => {
    const self = shop(...known);
    const end = known.length > 0 ? 'negative' : 'api_key_rejected';
    self.service.hold();
    const [first] = await begun(self.lookup());
    await self.service.release(0);
    self.service.now += SECOND;
    await self.service.release();
    expect(await first).toBe(end);
    self.service.now += age;
    expect(await self.lookup()).toBe(end);
    expect(self.checks()).toBe(checks);
  });

  it('is that of getAccount, where the app has called it', async () => {
    const { keyApi, lookup, checks } = shop(KEY);
    await keyApi.getAccount();
    expect(await lookup()).toBe('negative');
    expect(checks()).toBe(1);
  });

  it('is made anew after an outage: only then the negative answer is believed', async () => {
    const { service, lookup, checks } = shop(KEY);
    service.override = ({ path }) => (path === ACCOUNT ? page(503) : undefined);
    expect(await lookup()).toBe('unexpected_response');
    service.override = undefined;
    expect(await lookup()).toBe('negative');
    expect(checks()).toBe(2);
  });
});

describe.each(['INVALID request', 'This key was revoked'])(
  'a refusal of a code in the words "%s"',
  (words) => {
    const blaming = (status: number, ...known: string[]) => {
      const self = shop(...known);
      const answer = json(refusal(words), status);
      self.service.override = ({ path }) => (path === ACCOUNT ? undefined : answer);
      return self;
    };

    it.each([200, 401, 404])(
      'is api_key_rejected once account/details says the same: HTTP %d',
      async (status) => {
        const { lookup, checks } = blaming(status);
        // In other words, HTTP 404 is a gateway's.
        const isGateway = status === 404 && !words.startsWith('INVALID');
        if (!isGateway) expect(await lookup()).toBe('api_key_rejected');
        expect(checks()).toBe(isGateway ? 0 : 1);
      },
    );

    it('is service_refused where account/details knows the key', async () => {
      const { service, lookup, checks } = blaming(200, KEY);
      expect(await lookup()).toBe('service_refused');
      service.now += 5 * SECOND - 1;
      expect(await lookup()).toBe('service_refused');
      expect(checks()).toBe(1);
      service.now += 1;
      service.keys?.clear();
      expect(await lookup()).toBe('api_key_rejected');
      expect(checks()).toBe(2);
    });

    it.each([
      ['an outage', page(503)],
      ['another refusal', json(refusal('Maintenance'))],
    ])('is service_refused where account/details cannot tell: %s', async (_name, answer) => {
      const { service, keyApi } = blaming(200);
      const other = service.override;
      service.override = (...given) => other?.(...given) ?? answer;
      await expectError(keyApi.validatePurchase(CODE), 'service_refused', words);
    });
  },
);

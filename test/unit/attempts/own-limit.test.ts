import { type GuessLimit, KeyApi, LoginApi, MarketgateError } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { hear } from '../../support/hear.js';
import { settle } from '../../support/key-api-service.js';
import { json, ServiceInMemory } from '../../support/service-in-memory.js';
import { hearWarnings } from '../../support/warnings.js';
import { KEY, refusal } from '../../support/wire.js';
import { shopWith } from './support.js';

/** A limit that counts by client, and says what it was asked. */
function limitOf(most: number) {
  const counts = new Map<string, number>();
  const reserve = vi.fn<GuessLimit['reserve']>(async (client) => {
    const count = counts.get(client) ?? 0;
    if (count >= most) throw new MarketgateError('too_many_attempts', 'x', { retryAfter: 7 });
    counts.set(client, count + 1);
    return () => void counts.set(client, (counts.get(client) ?? 0) - 1);
  });
  return { reserve, counts };
}

const lateTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

describe("an app's own GuessLimit", () => {
  it('decides, also where it allows more than the default, and is asked right before the service', async () => {
    const guessLimit = limitOf(12);
    const warnings = hearWarnings();
    const { ask, asked, keyApi } = shopWith({ guessLimit });
    for (const kind of ['valid', 'valid-1', 'x-']) await ask(kind);
    for (let n = 0; n < 12; n++) expect(await ask('wrong')).toBe('invalid');
    const refused = keyApi.validatePurchase('wrong-code', { client: 'anna' });
    await expect(refused).rejects.toMatchObject({ code: 'too_many_attempts', retryAfter: 7 });
    expect(asked()).toBe(13);
    expect(guessLimit.reserve).toHaveBeenCalledTimes(14);
    expect(guessLimit.counts).toEqual(new Map([['anna', 12]]));
    expect(warnings).toEqual([]);
  });

  it('counts a client with a long name by its hash, and apart from others', async () => {
    const guessLimit = limitOf(1);
    const { ask } = shopWith({ guessLimit });
    for (const end of ['a', 'b'])
      expect(await ask('wrong', 'x'.repeat(5000) + end)).toBe('invalid');
    for (const client of guessLimit.counts.keys()) expect(client).toMatch(/^[\w-]{43}$/);
    const name = 'x'.repeat(128);
    expect(await ask('wrong', name)).toBe('invalid');
    expect(guessLimit.counts.has(name)).toBe(true);
  });

  it('counts two services, and two accounts, by scopes that contain no key', async () => {
    const guessLimit = limitOf(100);
    const { fetch } = new ServiceInMemory(() => json(refusal('Invalid purchase code'), 404));
    const scopeOf = async (baseUrl: string, apiKey: string) => {
      const keyApi = new KeyApi({ baseUrl, apiKey, fetch, guessLimit });
      onTestFinished(() => keyApi.close());
      await keyApi.validatePurchase('wrong-code', { client: 'anna' }).catch(() => {});
      return guessLimit.reserve.mock.lastCall?.[1];
    };
    const [north, south] = ['https://north.example', 'https://south.example/shop'];
    const other = 'b2'.repeat(32);
    const scopes = [];
    for (const [url, key] of [
      [north, KEY],
      [south, KEY],
      [north, other],
      [north, KEY],
    ] as const) {
      scopes.push(await scopeOf(url, key));
    }
    expect(new Set(scopes).size).toBe(3);
    expect(scopes[0]).toBe(scopes[3]);
    expect(scopes.join()).not.toContain(KEY);
    const loginApi = new LoginApi({
      authUrl: north,
      appId: '7',
      appSecret: 's',
      fetch,
      guessLimit,
    });
    onTestFinished(() => loginApi.close());
    await loginApi.exchange('key', { client: 'anna' }).catch(() => {});
    expect(scopes).not.toContain(guessLimit.reserve.mock.lastCall?.[1]);
  });

  it.each([
    ['rejects', async () => Promise.reject(new Error('203.0.113.9 down')), ''],
    [
      'throws',
      () => {
        throw new Error('down');
      },
      '',
    ],
    [
      'rejects as a store does',
      async () => Promise.reject(new MarketgateError('store_unavailable', 'Redis is full; help')),
      ': Redis is full',
    ],
    [
      'gives nothing that gives back',
      async () => undefined,
      ': guessLimit.reserve gave no function that gives the attempt back',
    ],
  ] as [string, GuessLimit['reserve'], string][])(
    'that %s refuses no customer; the process counts, and warns once',
    async (_how, reserve, why) => {
      const [drift, warnings] = [hear('drift'), hearWarnings()];
      const { ask, keyApi } = shopWith({ guessLimit: { reserve } });
      for (let n = 0; n < 12; n++) expect(await ask('valid')).toBe('valid');
      for (let n = 0; n < 10; n++) expect(await ask('wrong')).toBe('invalid');
      const refused = keyApi.validatePurchase('wrong-code', { client: 'anna' });
      await expect(refused).rejects.toMatchObject({ code: 'too_many_attempts', retryAfter: 60 });
      expect(warnings).toEqual(['MARKETGATE_GUESSES_NOT_SHARED']);
      // It is not Redis that failed, and what the limit itself says can contain the client.
      const [text] = vi.mocked(process.emitWarning).mock.lastCall ?? [];
      expect(text).toMatch(/^the limit that processes share could not count/);
      expect(text).toContain(`(EVAL)${why} (npx marketgate explain`);
      expect(drift).toEqual([
        {
          endpoint: 'guessLimit.reserve',
          kind: 'not-counted',
          path: 'count',
          expected: expect.stringContaining('EVAL'),
        },
      ]);
    },
  );

  it('has an attempt back before the next one has its turn', async () => {
    const { reserve, counts } = limitOf(1);
    const givingBack = deferred();
    const guessLimit = {
      reserve: async (client: string, scope: string) => {
        const giveBack = await reserve(client, scope);
        return async () => {
          await givingBack.promise;
          return giveBack();
        };
      },
    };
    const { ask, service } = shopWith({ guessLimit });
    await ask('valid', false);
    service.hold();
    const office = [ask('valid'), ask('valid')];
    await settle();
    await service.release();
    expect(counts.get('anna')).toBe(1);
    givingBack.resolve();
    expect(await Promise.all(office)).toEqual(['valid', 'valid']);
  });

  it('that cannot give back refuses no customer', async () => {
    const guessLimit = { reserve: async () => async () => Promise.reject(new Error('down')) };
    const { ask } = shopWith({ guessLimit });
    for (let n = 0; n < 12; n++) expect(await ask('valid')).toBe('valid');
  });

  it('that hangs holds nobody up for more than half a second, and the process counts', async () => {
    const { ask } = shopWith({ guessLimit: { reserve: () => new Promise(() => {}) } });
    await ask('wrong-cached', false);
    lateTimers();
    const asking = ask('valid');
    await vi.advanceTimersByTimeAsync(499);
    await vi.advanceTimersByTimeAsync(1);
    expect(await asking).toBe('valid');
  });

  it.each([
    ['a valid code', 'valid', 1],
    ['a wrong code', 'wrong', 0],
  ])(
    'that counts too late gives that back, unless the attempt has failed: %s',
    async (_what, kind, times) => {
      const [giveBack, counted] = [vi.fn(), deferred<() => void>()];
      const { ask } = shopWith({ guessLimit: { reserve: () => counted.promise } });
      await ask('wrong-cached', false);
      lateTimers();
      const asking = ask(kind);
      await vi.advanceTimersByTimeAsync(500);
      await asking;
      counted.resolve(giveBack);
      await settle();
      expect(giveBack).toHaveBeenCalledTimes(times);
    },
  );

  it('that has refused lets in again when it says so: a refused attempt counts nowhere', async () => {
    // With a limit of its own, as RedisGuessLimit has it, the process counts by that too.
    const guessLimit = { ...limitOf(0), limit: 2 };
    const { ask } = shopWith({ guessLimit });
    for (let n = 0; n < 3; n++) expect(await ask('wrong')).toBe('too_many_attempts');
    guessLimit.reserve.mockImplementation(async () => () => {});
    for (let n = 0; n < 2; n++) expect(await ask('wrong')).toBe('invalid');
    expect(await ask('wrong')).toBe('too_many_attempts');
  });

  it('that refuses while an attempt in flight ends is asked again, because that can be given back', async () => {
    const guessLimit = limitOf(1);
    const { ask, service } = shopWith({ guessLimit });
    await ask('valid');
    const refusing = deferred();
    service.hold();
    const first = ask('valid');
    await settle();
    guessLimit.reserve.mockImplementationOnce(async () => {
      await refusing.promise;
      throw new MarketgateError('too_many_attempts', 'x', { retryAfter: 7 });
    });
    const second = ask('valid');
    await settle();
    await service.release();
    expect(await first).toBe('valid');
    refusing.resolve();
    expect(await second).toBe('valid');
  });
});

import { type GuessLimit, type KeyApiOptions, MarketgateError } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { json } from '../../support/service-in-memory.js';
import { hearWarnings } from '../../support/warnings.js';
import { KEY } from '../../support/wire.js';
import { serving } from '../clients/login-support.js';
import { shopWith } from './support.js';

/** A limit that counts by client, and says what it was asked. */
function limitOf(most: number) {
  const counts = new Map<string, number>();
  const check = vi.fn<GuessLimit['check']>(async (client) =>
    (counts.get(client) ?? 0) < most ? 0 : 6.5,
  );
  const add = vi.fn<GuessLimit['add']>(async (client) => {
    counts.set(client, (counts.get(client) ?? 0) + 1);
  });
  return { check, add, counts };
}

describe("an app's own GuessLimit", () => {
  it('decides, also where it allows more than the default, and counts what is not answered with yes', async () => {
    const guessLimit = limitOf(12);
    const warnings = hearWarnings();
    const { ask, asked, keyApi } = shopWith({ guessLimit });
    for (const kind of ['valid', 'valid-1', 'x-']) await ask(kind);
    for (let n = 0; n < 12; n++) expect(await ask('wrong')).toBe('invalid');
    const refused = keyApi.validatePurchase('wrong-code', { client: 'anna' });
    await expect(refused).rejects.toMatchObject({ code: 'too_many_attempts', retryAfter: 7 });
    expect(asked()).toBe(13);
    expect(guessLimit.check).toHaveBeenCalledTimes(14);
    expect(guessLimit.counts).toEqual(new Map([['anna', 12]]));
    expect(warnings).toEqual([]);
  });

  it.each([
    [12, 12],
    // The questions that are sent at once.
    [3, 10],
  ])('of %i guesses ends a burst of one process after %i', async (most, answered) => {
    const { ask } = shopWith({ guessLimit: limitOf(most) });
    const burst = await Promise.all(Array.from({ length: 60 }, () => ask('wrong')));
    expect(burst.filter((end) => end === 'invalid').length).toBe(answered);
  });

  it('counts two services, and two accounts, by scopes that contain no key', async () => {
    const guessLimit = limitOf(100);
    const scopeOf = async (options: Partial<KeyApiOptions>) => {
      await shopWith({ guessLimit, ...options }).ask('wrong');
      return guessLimit.check.mock.lastCall?.[1];
    };
    const south = { baseUrl: 'https://south.example' };
    const scopes = [await scopeOf({}), await scopeOf(south), await scopeOf({ apiKey: 'b2' })];
    const { loginApi } = serving(() => json({}), { guessLimit });
    await rejection(loginApi.exchange('key', { client: 'anna' }));
    expect(new Set([...scopes, guessLimit.check.mock.lastCall?.[1]]).size).toBe(4);
    expect(await scopeOf({})).toBe(scopes[0]);
    expect(scopes.join()).not.toContain(KEY.slice(0, 8));
  });

  const down = new Error('203.0.113.9 down');
  const full = new MarketgateError('store_unavailable', 'Redis is full; help');
  it.each<[string, () => unknown, string]>([
    ['rejects', () => Promise.reject(down), ''],
    ['rejects as a store does', () => Promise.reject(full), ': Redis is full'],
    ['gives no number', async () => undefined, ': guessLimit.check gave no number of seconds'],
  ])(
    'that %s refuses no customer; the process counts, and warns once',
    async (_how, answer, why) => {
      const [drift, warnings] = [hear('drift'), hearWarnings()];
      const guessLimit = { check: answer, add: answer } as GuessLimit;
      const { ask, keyApi } = shopWith({ guessLimit });
      for (let n = 0; n < 12; n++) expect(await ask('valid')).toBe('valid');
      for (let n = 0; n < 10; n++) expect(await ask('wrong')).toBe('invalid');
      const refused = keyApi.validatePurchase('wrong-code', { client: 'anna' });
      await expect(refused).rejects.toMatchObject({ code: 'too_many_attempts', retryAfter: 60 });
      expect(warnings).toEqual(['MARKETGATE_GUESSES_NOT_SHARED']);
      // It is not Redis that failed, and what the limit itself says can contain the client.
      const [text] = vi.mocked(process.emitWarning).mock.lastCall ?? [];
      expect(text).toMatch(/^the limit that processes share could not count/);
      expect(text).toContain(`(EVAL)${why} (npx marketgate explain`);
      expect(drift[0]).toEqual({
        endpoint: 'guessLimit.check',
        kind: 'not-counted',
        path: 'count',
        expected: expect.stringContaining('EVAL'),
      });
    },
  );

  it('that hangs holds nobody up for more than half a second, and the process counts', async () => {
    const hangs = (): Promise<never> => new Promise(() => {});
    const { ask } = shopWith({ guessLimit: { check: hangs, add: hangs } });
    await ask('wrong-cached', false);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const asking = ask('valid');
    await vi.advanceTimersByTimeAsync(500);
    expect(await asking).toBe('valid');
  });

  it('that names its limits holds this process to them too', async () => {
    const guessLimit = { check: async () => 0, add: async () => {}, limit: 2 };
    const { ask } = shopWith({ guessLimit });
    for (let n = 0; n < 2; n++) expect(await ask('wrong')).toBe('invalid');
    expect(await ask('wrong')).toBe('too_many_attempts');
  });
});

import { type GuessLimit, MarketgateError } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { settle } from '../../support/key-api-service.js';
import { json } from '../../support/service-in-memory.js';
import { collectWarnings, hearWarnings } from '../../support/warnings.js';
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

  it('ends a burst of one process, after the questions that are sent at once', async () => {
    const { ask } = shopWith({ guessLimit: limitOf(3) });
    const burst = await Promise.all(Array.from({ length: 20 }, () => ask('wrong')));
    expect(burst.filter((end) => end === 'invalid').length).toBe(10);
  });

  it('counts no visitor who leaves while it is asked, for nothing was sent', async () => {
    const guessLimit = limitOf(12);
    const answer = deferred<number>();
    guessLimit.check.mockReturnValueOnce(answer.promise);
    const { ask, asked, keyApi } = shopWith({ guessLimit });
    await keyApi.getAccount();
    const leaving = new AbortController();
    const asking = ask('wrong', 'anna', { signal: leaving.signal });
    await vi.waitFor(() => expect(guessLimit.check).toHaveBeenCalled());
    leaving.abort(new Error('left'));
    expect(await asking).toBe('left');
    answer.resolve(0);
    await settle();
    expect([asked(), guessLimit.counts.size]).toEqual([0, 0]);
  });

  it('counts two services, and two accounts, by scopes that contain no key', async () => {
    const guessLimit = limitOf(100);
    const south = { baseUrl: 'https://south.example' };
    for (const options of [{}, south, { apiKey: 'b2' }, {}]) {
      await shopWith({ guessLimit, ...options }).ask('wrong');
    }
    const { loginApi } = serving(() => json({}), { guessLimit });
    await rejection(loginApi.exchange('key', { client: 'anna' }));
    const scopes = guessLimit.check.mock.calls.map(([, scope]) => scope);
    expect(new Set(scopes).size).toBe(4);
    expect(scopes[3]).toBe(scopes[0]);
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
      const [drift, warnings] = [hear('drift'), collectWarnings()];
      const { ask } = shopWith({ guessLimit: { check: answer, add: answer } as GuessLimit });
      for (const [kind, end] of [
        ['valid', 'valid'],
        ['wrong', 'invalid'],
      ] as const) {
        for (let n = 0; n < 10; n++) expect(await ask(kind)).toBe(end);
      }
      expect(await ask('wrong')).toBe('too_many_attempts');
      expect(warnings.map(({ code }) => code)).toEqual(['MARKETGATE_GUESSES_NOT_SHARED']);
      expect(drift[0]).toEqual({
        endpoint: 'guessLimit.check',
        kind: 'not-counted',
        path: 'count',
        expected: expect.stringContaining('EVAL'),
      });
      // What the limit itself says can contain the client.
      expect(warnings[0]?.message).toContain(`(EVAL)${why} (npx marketgate explain`);
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
    const guessLimit = { check: async () => 0, add: async () => {}, limit: 1 };
    const { askAll } = shopWith({ guessLimit });
    expect(await askAll('wrong', 'wrong')).toEqual(['invalid', 'too_many_attempts']);
  });
});

import { describe, expect, it } from 'vitest';
import {
  ITEM,
  ITEMS,
  type KeyApiService,
  settle,
  VALIDATION,
} from '../../support/key-api-service.js';
import { json, page } from '../../support/service-in-memory.js';
import { hearWarnings } from '../../support/warnings.js';
import { refusal } from '../../support/wire.js';
import { serving } from '../clients/login-support.js';
import { endOf, MINUTE, shopOf, shopWith } from './support.js';

// "Counted, for the client who caused it, is what the service answers with anything but a yes while it is up."

describe('a client', () => {
  it('has ten guesses in a minute; over that nothing is asked, and it is told how long', async () => {
    const warnings = hearWarnings();
    const { ask, asked, keyApi, service } = shopWith();
    for (let n = 0; n < 10; n++) {
      expect(await ask('wrong')).toBe('invalid');
      service.now += 1000;
    }
    const refused = keyApi.validatePurchase('wrong-code', { client: 'anna' });
    await expect(refused).rejects.toMatchObject({ code: 'too_many_attempts', retryAfter: 50 });
    expect(asked()).toBe(10);
    service.now += 50_000;
    expect(await ask('wrong')).toBe('invalid');
    expect(warnings).toEqual([]);
  });

  it('is counted by itself, by address however that is written, and not at all where it is nobody', async () => {
    const { ask } = shopOf(1);
    for (const client of ['203.0.113.9', '203.0.113.8', null, false, ' ', ' ']) {
      expect(await ask('wrong', client)).toBe('invalid');
    }
    expect(await ask('wrong', '::ffff:203.0.113.9')).toBe('too_many_attempts');
    const unlimited = shopWith({ guessLimit: false });
    for (let n = 0; n < 12; n++) expect(await unlimited.ask('wrong')).toBe('invalid');
  });

  it('is counted for a login that the service refuses, and not where it refuses the credentials of the app', async () => {
    for (const [message, ends] of [
      ['Invalid auth_key', ['auth_key_rejected', 'too_many_attempts']],
      ['Invalid app_secret', ['app_credentials_rejected', 'app_credentials_rejected']],
    ] as const) {
      const { loginApi } = serving(() => json({ message }, 401), { guessLimit: { limit: 1 } });
      const exchange = (key: string) => endOf(loginApi.exchange(key, { client: 'anna' }));
      expect(await Promise.all(['key-1', 'key-2'].map(exchange))).toEqual(ends);
    }
  });
});

describe('no guess is', () => {
  it('a valid code, an answer of the cache, or what is no code', async () => {
    const { askAll, asked } = shopOf(1);
    for (let n = 0; n < 5; n++) expect(await askAll('valid')).toEqual(['valid']);
    expect(await askAll('wrong-7', 'wrong-7', 'x-')).toEqual(Array(3).fill('invalid'));
    expect(asked()).toBe(6);
    // What the cache has is served all the same.
    const ends = await askAll('wrong', 'valid-1', 'wrong-7');
    expect(ends).toEqual(['too_many_attempts', 'valid', 'invalid']);
  });

  it('what a client asks who joins a request of another one', async () => {
    const { ask, asked, service } = shopOf(1);
    await ask('valid');
    service.hold();
    const both = [ask('wrong-7'), ask('wrong-7', 'ben')];
    await settle();
    await service.release();
    expect(await Promise.all(both)).toEqual(['invalid', 'invalid']);
    expect(asked()).toBe(2);
    expect([await ask('wrong'), await ask('wrong', 'ben')]).toEqual([
      'too_many_attempts',
      'invalid',
    ]);
  });

  it.each<[string, string, Partial<KeyApiService>, string]>([
    ['a code in an outage', 'wrong', { override: () => page(503) }, 'service_unavailable'],
    ['a code over the quota', 'busy', { override: () => page(429) }, 'service_unavailable'],
    ['a code where the api_key is rejected', 'wrong', { keys: new Set() }, 'api_key_rejected'],
  ])('%s, and codes count again as soon as that has ended', async (_what, kind, state, code) => {
    const { askAll, service } = shopOf(1);
    await askAll('valid');
    const { override } = service;
    service.now += 10 * MINUTE;
    Object.assign(service, state);
    expect(await askAll(...Array(7).fill(kind))).toEqual(Array(7).fill(code));
    Object.assign(service, { override, keys: undefined });
    service.now += 10 * MINUTE;
    expect(await askAll('wrong', 'wrong')).toEqual(['invalid', 'too_many_attempts']);
  });
});

describe('an answer that is neither positive nor negative', () => {
  it.each([
    ['words', 'service_refused'],
    ['html', 'unexpected_response'],
    ['fails', 'service_unavailable'],
    ['busy', 'service_unavailable'],
  ])('counts where account/details is answered: %s', async (kind, code) => {
    expect(await shopOf(1).askAll(kind, kind)).toEqual([code, 'too_many_attempts']);
  });
});

it('a visitor who leaves before the answer stays counted, and before the question is not counted', async () => {
  const { ask, asked, service } = shopOf(1);
  await ask('valid');
  const gone = AbortSignal.abort(new Error('gone'));
  expect(await ask('wrong', 'anna', { signal: gone })).toBe('gone');
  service.hold();
  const leaving = new AbortController();
  const asking = ask('valid', 'anna', { signal: leaving.signal });
  await settle();
  leaving.abort(new Error('left'));
  expect(await asking).toBe('left');
  await service.release();
  expect(await ask('valid')).toBe('too_many_attempts');
  expect(asked()).toBe(2);
});

it('a call that is repeated is one guess', async () => {
  const { askAll, asked } = shopOf(2, { retries: 2 });
  const ends = await askAll('hangs', 'wrong', 'wrong');
  expect(ends).toEqual(['service_unavailable', 'invalid', 'too_many_attempts']);
  expect(asked()).toBe(4);
});

it('a refresh of a code counts for nobody, also where its answer is no', async () => {
  const { ask, askAll, asked, service } = shopOf(1);
  expect(await ask('valid-1')).toBe('valid');
  service.now += 6 * MINUTE;
  const { override } = service;
  const no = json(refusal('Invalid purchase code'), 404);
  service.override = ({ path }) => (path === VALIDATION ? no : undefined);
  expect(await ask('valid-1')).toBe('valid');
  await settle();
  expect(await ask('valid-1')).toBe('invalid');
  expect(asked()).toBe(2);
  service.override = override;
  expect(await askAll('wrong', 'wrong')).toEqual(['invalid', 'too_many_attempts']);
});

it('an item that the list answers is no guess; one that has to be asked for by itself is one if there is none', async () => {
  const { keyApi, service } = shopOf(1);
  const get = (id: number) => endOf(keyApi.getItem(id, { client: 'anna' }));
  for (const id of [7, 8]) expect(await get(id)).toBe('invalid');
  expect([service.asked(ITEMS), service.asked(ITEM)]).toEqual([1, 0]);
  service.items = [];
  service.now += 5 * MINUTE;
  for (const [id, end] of [
    [1, 'valid'],
    [6, 'invalid'],
    [3, 'too_many_attempts'],
    [1, 'valid'],
  ] as const) {
    service.says = id === 6 ? 'negative' : 'positive';
    expect(await get(id)).toBe(end);
  }
});

describe('all clients together', () => {
  it('have thirty guesses in a window; then only clients without one are let through', async () => {
    const { ask, keyApi } = shopWith();
    for (let n = 0; n < 30; n++) expect(await ask('wrong', `client ${n % 5}`)).toBe('invalid');
    const refused = keyApi.validatePurchase('wrong-code', { client: 'client 1' });
    await expect(refused).rejects.toMatchObject({ code: 'too_many_attempts', retryAfter: 60 });
    expect(await ask('wrong', 'new')).toBe('invalid');
    expect(await ask('valid', 'new')).toBe('too_many_attempts');
  });

  it('let one with a guess wait while others have much in flight, and do not refuse it', async () => {
    const { ask, asked, service } = shopWith({ guessLimit: { total: 5 } });
    expect(await ask('wrong', 'anna')).toBe('invalid');
    service.hold();
    const clients = [...Array(9).keys(), 'anna'];
    const ends = clients.map((client) => ask('valid', `${client}`));
    await settle();
    expect(asked()).toBe(10);
    await service.release();
    expect(await Promise.all(ends)).toEqual(Array(10).fill('valid'));
  });
});

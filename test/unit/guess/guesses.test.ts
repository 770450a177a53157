import { describe, expect, it } from 'vitest';
import { ACCOUNT, ITEM, ITEMS, settle } from '../../support/key-api-service.js';
import { json, page } from '../../support/service-in-memory.js';
import { VALIDATION } from '../../support/shop.js';
import { hearWarnings } from '../../support/warnings.js';
import { refusal } from '../../support/wire.js';
import { endOf, MINUTE, shopWith } from './support.js';

// "Counted, for the client who caused it, is what the service answers with anything but a yes while it is up."

describe('a client of a KeyApi', () => {
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

  it('is counted by itself, and by address also where that is written in another way', async () => {
    const { ask } = shopWith({ guessLimit: { limit: 1 } });
    expect(await ask('wrong', '203.0.113.9')).toBe('invalid');
    expect(await ask('wrong', '203.0.113.8')).toBe('invalid');
    expect(await ask('wrong', '::ffff:203.0.113.9')).toBe('too_many_attempts');
  });

  it('is nobody where it is not given or false, and with guessLimit: false', async () => {
    const one = shopWith({ guessLimit: { limit: 1 } });
    for (const nobody of [undefined, null, false, ' ']) {
      for (let n = 0; n < 3; n++) {
        expect(await one.ask('wrong', false, { client: nobody })).toBe('invalid');
      }
    }
    const other = shopWith({ guessLimit: false });
    for (let n = 0; n < 12; n++) expect(await other.ask('wrong')).toBe('invalid');
  });
});

describe('no guess is', () => {
  it('a valid code, an answer of the cache, or what is no code', async () => {
    const { ask, asked } = shopWith({ guessLimit: { limit: 1 } });
    for (let n = 0; n < 5; n++) expect(await ask('valid')).toBe('valid');
    for (let n = 0; n < 3; n++) expect(await ask('wrong-7')).toBe('invalid');
    expect(await ask('x-')).toBe('invalid');
    expect(asked()).toBe(6);
    expect(await ask('wrong')).toBe('too_many_attempts');
    // What the cache has is served all the same.
    expect([await ask('valid-1'), await ask('wrong-7')]).toEqual(['valid', 'invalid']);
  });

  it('what a client asks who joins a request of another one', async () => {
    const { ask, asked, service } = shopWith({ guessLimit: { limit: 1 } });
    await ask('valid');
    service.hold();
    const [anna, ben] = [ask('wrong-7'), ask('wrong-7', 'ben')];
    await settle();
    await service.release();
    expect(await Promise.all([anna, ben])).toEqual(['invalid', 'invalid']);
    expect(asked()).toBe(2);
    expect([await ask('wrong'), await ask('wrong', 'ben')]).toEqual([
      'too_many_attempts',
      'invalid',
    ]);
  });

  it('a valid code whose answer is invalidated before it arrives, and is asked for again', async () => {
    const { ask, asked, keyApi, service } = shopWith({ guessLimit: { limit: 2 } });
    await ask('valid');
    service.hold();
    const office = [1, 2].map(() => ask('valid'));
    await settle();
    await keyApi.invalidate();
    await service.release();
    expect(await Promise.all(office)).toEqual(['valid', 'valid']);
    expect(asked()).toBe(5);
    expect([await ask('wrong'), await ask('wrong')]).toEqual(['invalid', 'invalid']);
  });

  it('a code in an outage, and it is allowed as soon as that has ended', async () => {
    const { ask, setUp, service } = shopWith({ guessLimit: { limit: 2 } });
    await ask('valid');
    setUp(false);
    for (let n = 0; n < 12; n++) expect(await ask('wrong')).toBe('service_unavailable');
    setUp(true);
    service.now += 5000;
    for (let n = 0; n < 2; n++) expect(await ask('wrong')).toBe('invalid');
    expect(await ask('wrong')).toBe('too_many_attempts');
  });

  it('a code where the api_key is rejected', async () => {
    const { ask, service } = shopWith({ guessLimit: { limit: 1 } });
    await ask('valid');
    service.keys = new Set(['another key']);
    service.now += 10 * MINUTE;
    for (let n = 0; n < 3; n++) expect(await ask('wrong')).toBe('api_key_rejected');
  });
});

describe('an answer that is neither positive nor negative', () => {
  it.each([
    ['words', 'service_refused'],
    ['html', 'unexpected_response'],
    ['fails', 'service_unavailable'],
    ['busy', 'service_unavailable'],
  ])('counts where account/details is answered: %s', async (kind, code) => {
    const { ask } = shopWith({ guessLimit: { limit: 2 } });
    for (const end of [code, code, 'too_many_attempts']) expect(await ask(kind)).toBe(end);
  });

  it('does not count where account/details is no better', async () => {
    const { ask, service, setUp } = shopWith({ guessLimit: { limit: 1 } });
    await ask('valid');
    setUp(false);
    expect(await ask('fails')).toBe('service_unavailable');
    service.override = () => page(429);
    service.now += MINUTE;
    for (let n = 0; n < 2; n++) expect(await ask('busy')).toBe('service_unavailable');
  });

  it('counts if it is a no that cannot be believed, because the key cannot be checked', async () => {
    const { ask, service } = shopWith({ guessLimit: { limit: 1 } });
    await ask('valid');
    const { override } = service;
    service.override = (request, n) =>
      request.path === ACCOUNT ? page(500) : override?.(request, n);
    service.now += 10 * MINUTE;
    expect(await ask('wrong')).not.toBe('invalid');
    await settle();
    expect(await ask('wrong')).toBe('too_many_attempts');
  });
});

it('a visitor who leaves before the answer stays counted, and before the question is not counted', async () => {
  const { ask, asked, service } = shopWith({ guessLimit: { limit: 2 } });
  await ask('valid');
  service.hold();
  for (let n = 0; n < 2; n++) {
    const leaving = new AbortController();
    const asking = ask('valid', 'anna', { signal: leaving.signal });
    await settle();
    leaving.abort(new Error('left'));
    expect(await asking).toBe('left');
  }
  await service.release();
  expect(await ask('valid')).toBe('too_many_attempts');
  const { signal } = Object.assign(new AbortController(), {});
  for (let n = 0; n < 3; n++) {
    const gone = ask('wrong', 'ben', { signal: AbortSignal.abort(new Error('gone')) });
    expect(await gone).toBe('gone');
  }
  expect(await ask('valid', 'ben', { signal })).toBe('valid');
  expect(asked()).toBe(4);
});

it('a call that is repeated is one guess', async () => {
  const { ask, asked } = shopWith({ retries: 2, guessLimit: { limit: 2 } });
  expect(await ask('hangs')).toBe('service_unavailable');
  expect(asked()).toBe(3);
  expect([await ask('wrong'), await ask('wrong')]).toEqual(['invalid', 'too_many_attempts']);
});

it('a refresh of a code counts for nobody, also where its answer is no', async () => {
  const { ask, asked, service } = shopWith({ guessLimit: { limit: 1 } });
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
  expect([await ask('wrong'), await ask('wrong')]).toEqual(['invalid', 'too_many_attempts']);
});

describe('an item', () => {
  it('that the list answers is no guess, whether it exists or not', async () => {
    const { keyApi, service } = shopWith({ guessLimit: { limit: 1 } });
    for (let id = 1040; id < 1050; id++) await keyApi.getItem(id, { client: 'anna' });
    expect([service.asked(ITEMS), service.asked(ITEM)]).toEqual([1, 0]);
  });

  it('that has to be asked for by itself is one if there is none', async () => {
    const { keyApi, service } = shopWith({ guessLimit: { limit: 1 } });
    service.items = [];
    const { override } = service;
    const none = json(refusal('Item Not Found'), 404);
    service.override = (request, n) =>
      request.path === ITEM && Number(request.parameter('item_id')) > 5
        ? none
        : override?.(request, n);
    const get = (id: number) => endOf(keyApi.getItem(id, { client: 'anna' }));
    expect([await get(1), await get(2), await get(6)]).toEqual(['valid', 'valid', 'invalid']);
    expect([await get(3), await get(1)]).toEqual(['too_many_attempts', 'valid']);
  });
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

  it('do not refuse one with a guess because others have much in flight', async () => {
    const { ask, service } = shopWith({ guessLimit: { total: 5 } });
    expect(await ask('wrong', 'anna')).toBe('invalid');
    service.hold();
    const others = Array.from({ length: 9 }, (_, n) => ask('valid', `client ${n}`));
    await settle();
    const anna = ask('valid', 'anna');
    await settle();
    await service.release();
    expect(await Promise.all([anna, ...others])).toEqual(Array(10).fill('valid'));
  });
});

it('a window can be as long as the longest timer', async () => {
  const { ask, service } = shopWith({ guessLimit: { limit: 1, windowMs: 2 ** 31 - 1 } });
  expect(await ask('wrong')).toBe('invalid');
  service.now += 2 ** 31 - 2;
  expect(await ask('wrong')).toBe('too_many_attempts');
});

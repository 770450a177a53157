import type { CodesInvalidMessage, KeyApiOptions } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { KeyApiService, settle, VALIDATION } from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { json } from '../../support/service-in-memory.js';
import { KEY, refusal } from '../../support/wire.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A key that the service knows, and that knows none of the codes. */
const KEY_OF_ANOTHER = 'b2'.repeat(32);

const hearAlarms = (): CodesInvalidMessage[] => hear('drift');

const guesses = (count: number) => Array.from({ length: count }, (_, i) => `guess-${i}-x`);

/** A shop whose customers buy and are refunded. It listens for alarms, unless it is given some. */
function shop(options: Partial<KeyApiOptions> = {}, alarms = hearAlarms()) {
  const service = new KeyApiService();
  const valid = new Set<string>();
  service.override = (request) => {
    if (request.path !== VALIDATION || service.says !== 'positive') return undefined;
    const isOurs = request.parameter('api_key') === KEY;
    const isValid = isOurs && valid.has(request.parameter('purchase_code') ?? '');
    return isValid ? undefined : json(refusal('Invalid purchase code'), 404);
  };
  const key = { now: KEY };
  const keyApi = service.client({ apiKey: () => key.now, ...options });
  return {
    service,
    valid,
    key,
    keyApi,
    alarms,
    async ask(codes: string[]): Promise<boolean[]> {
      const answers: boolean[] = [];
      for (const code of codes) answers.push((await keyApi.validatePurchase(code)) !== null);
      return answers;
    },
    customers(count: number): string[] {
      const codes = Array.from({ length: count }, (_, i) => `sold-code-${valid.size + i}`);
      for (const code of codes) valid.add(code);
      return codes;
    },
  };
}

const wereValid = (codes: number) => ({
  endpoint: '/api/purchases/validation',
  kind: 'codes-invalid',
  path: 'msg',
  expected: 'a valid code among those that were valid',
  reason: 'were-valid',
  codes,
});

const UNCACHED = { cache: false } as const;

describe('the alarm that all codes are suddenly invalid', () => {
  it('is raised by the third customer, when the key of another account was put in', async () => {
    const { ask, customers, key, alarms } = shop(UNCACHED);
    const codes = customers(5);
    await ask(codes);
    key.now = KEY_OF_ANOTHER;
    expect(await ask(codes.slice(0, 2))).toEqual([false, false]);
    expect(alarms).toEqual([]);
    await ask(codes.slice(2));
    expect(alarms).toEqual([wereValid(3)]);
  });

  it('is raised also where customers write their codes in another letter case', async () => {
    const { ask, customers, key, alarms } = shop(UNCACHED);
    const codes = customers(3);
    await ask(codes);
    key.now = KEY_OF_ANOTHER;
    await ask(codes.map((code) => code.toUpperCase()));
    expect(alarms).toEqual([wereValid(3)]);
  });

  it('is raised where answers are cached: by what refreshes erase', async () => {
    const { ask, customers, key, service } = shop({}, []);
    const codes = customers(4);
    await ask(codes);
    // There was no listener yet: that these codes were valid is known from the cache.
    const alarms = hearAlarms();
    key.now = KEY_OF_ANOTHER;
    service.now += 6 * MINUTE;
    await ask(codes);
    await settle();
    expect(alarms).toHaveLength(1);
    expect(alarms[0]).toMatchObject({ reason: 'were-valid' });
  });

  it('is raised at once when the service no longer knows the key', async () => {
    const { customers, keyApi, alarms, service } = shop(UNCACHED);
    const [code = ''] = customers(1);
    await keyApi.validatePurchase(code);
    service.keys = new Set();
    await expectError(keyApi.validatePurchase(code), 'api_key_rejected');
    expect(alarms).toEqual([
      { ...wereValid(1), expected: 'an api_key that the service knows', reason: 'key-rejected' },
    ]);
  });

  it('is raised by the twentieth first code, when none was ever valid', async () => {
    const { ask, customers, key, alarms, service } = shop(UNCACHED);
    key.now = KEY_OF_ANOTHER;
    const codes = customers(20);
    await ask(codes.slice(0, 19));
    await ask(codes.slice(0, 19));
    expect(alarms).toEqual([]);
    await ask(codes);
    expect(alarms).toHaveLength(1);
    expect(alarms[0]).toMatchObject({ reason: 'never-valid', codes: 20 });
    expect(alarms[0]?.expected).toContain('valid code');
    await ask(guesses(150));
    service.now += HOUR;
    await ask(['guess-x']);
    expect(alarms[1]).toMatchObject({ codes: 100 });
  });

  it('is raised once an hour, for as long as it lasts', async () => {
    const { ask, customers, key, alarms, service } = shop(UNCACHED);
    const codes = customers(5);
    await ask(codes);
    key.now = KEY_OF_ANOTHER;
    await ask(codes);
    service.now += HOUR - MINUTE;
    await ask(codes);
    expect(alarms).toEqual([wereValid(3)]);
    service.now += MINUTE;
    await ask(codes);
    expect(alarms).toEqual([wereValid(3), wereValid(5)]);
    key.now = KEY;
    await ask(codes);
    service.now += HOUR;
    await ask(guesses(3));
    expect(alarms).toHaveLength(2);
  });
});

describe('the alarm is not raised', () => {
  it('for guessers, once there was a customer', async () => {
    const { ask, customers, alarms } = shop();
    await ask(customers(1));
    await ask(guesses(200));
    expect(alarms).toEqual([]);
  });

  it('for guessers in a process whose customers came before there was a listener', async () => {
    const { ask, customers } = shop({}, []);
    await ask(customers(1));
    const alarms = hearAlarms();
    await ask(guesses(30));
    expect(alarms).toEqual([]);
  });

  it('for guessers in a process of a fleet whose customers were answered by others', async () => {
    const shared = new MemorySharedCache();
    const { keyApi, customers, service } = shop({ cache: { shared } }, []);
    const [code = ''] = customers(1);
    await keyApi.validatePurchase(code);
    await settle();
    const alarms = hearAlarms();
    const other = service.client({ cache: { shared } });
    expect(await other.validatePurchase(code)).not.toBeNull();
    for (const guess of guesses(30)) await other.validatePurchase(guess);
    expect(alarms).toEqual([]);
  });

  it('for refunds of two codes, however often they are tried', async () => {
    const { ask, customers, alarms, valid } = shop(UNCACHED);
    const codes = customers(3);
    await ask(codes);
    const refunded = codes.slice(0, 2);
    for (const code of refunded) valid.delete(code);
    for (let i = 0; i < 5; i++) await ask([...refunded, ...guesses(5)]);
    expect(alarms).toEqual([]);
  });

  it('for three refunds with a valid code in between', async () => {
    const { ask, customers, alarms, valid } = shop(UNCACHED);
    const [a = '', b = '', c = '', d = ''] = customers(4);
    await ask([a, b, c, d]);
    for (const code of [a, b, c]) valid.delete(code);
    await ask([a, b, d, c]);
    expect(alarms).toEqual([]);
  });

  it.each([
    ['the third comes a day after the first', DAY / 2],
    ['the clock is set back', -MINUTE],
  ])('for three refunds, when %s', async (_name, step) => {
    const { ask, customers, alarms, service, valid } = shop(UNCACHED);
    const codes = customers(3);
    await ask(codes);
    for (const code of codes) {
      valid.delete(code);
      await ask([code]);
      service.now += step;
    }
    expect(alarms).toEqual([]);
  });

  it.each([
    ['valid codes', KEY, undefined],
    ['unknown codes', KEY_OF_ANOTHER, undefined],
    ['a rejected key', 'c3', new Set([KEY])],
  ])('for what was said of %s before there was a listener', async (_name, before, keys) => {
    const { ask, customers, key, keyApi, service } = shop(UNCACHED, []);
    key.now = before;
    service.keys = keys;
    const codes = customers(19);
    for (const code of codes) await keyApi.validatePurchase(code).catch(() => {});
    key.now = KEY_OF_ANOTHER;
    service.keys = undefined;
    const alarms = hearAlarms();
    await ask([...codes.slice(0, 3), 'guess-x']);
    expect(alarms).toEqual([]);
  });

  it('for an outage', async () => {
    const { ask, customers, keyApi, alarms, service } = shop(UNCACHED);
    const codes = customers(4);
    await ask(codes);
    service.says = 'outage';
    for (const code of codes) await rejection(keyApi.validatePurchase(code));
    expect(alarms).toEqual([]);
  });

  it('when the apiKey function fails', async () => {
    const apiKey = () => Promise.reject(new Error('vault'));
    const { keyApi, alarms } = shop({ ...UNCACHED, apiKey });
    for (const guess of guesses(25)) await rejection(keyApi.validatePurchase(guess));
    expect(alarms).toEqual([]);
  });
});

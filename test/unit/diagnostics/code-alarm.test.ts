import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type CodesInvalidMessage, KeyApi, type KeyApiOptions } from 'marketgate';
import type { Sandbox } from 'marketgate/sandbox';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { rejection } from '../../support/errors.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { openShop } from '../../support/shop.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The alarms that are raised until the test is over. */
function hearAlarms(): CodesInvalidMessage[] {
  const alarms: CodesInvalidMessage[] = [];
  const listen = (message: unknown): void => {
    if ((message as CodesInvalidMessage).kind === 'codes-invalid') {
      alarms.push(message as CodesInvalidMessage);
    }
  };
  subscribe('marketgate:drift', listen);
  onTestFinished(() => void unsubscribe('marketgate:drift', listen));
  return alarms;
}

const sell = (sandbox: Sandbox, count: number): string[] =>
  Array.from({ length: count }, () => sandbox.data.addPurchase({ item_id: 1042 }).purchase_code);

const guesses = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `guess-${i}-x`);

async function shop(options: Partial<KeyApiOptions> = {}) {
  const key = { now: '' };
  const opened = await openShop({ apiKey: () => key.now, ...options });
  const { sandbox, apiKey, keyApi } = opened;
  key.now = apiKey;
  const ask = async (codes: string[]): Promise<boolean[]> => {
    const answers: boolean[] = [];
    for (const code of codes) answers.push((await keyApi.validatePurchase(code)) !== null);
    return answers;
  };
  return { ...opened, key, ask, customers: (count: number) => sell(sandbox, count) };
}

/** The key of another account: account/details answers it, and it knows none of the codes. */
function keyOfAnother(sandbox: Sandbox, apiKey: string): string {
  const other = sandbox.data.workspaces.find(({ api_key }) => api_key && api_key !== apiKey);
  if (other?.api_key === undefined) throw new Error('the sandbox has one workspace only');
  return other.api_key;
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
    const { ask, customers, key, sandbox, apiKey } = await shop(UNCACHED);
    const alarms = hearAlarms();
    const codes = customers(5);
    await ask(codes);
    key.now = keyOfAnother(sandbox, apiKey);
    expect(await ask(codes.slice(0, 2))).toEqual([false, false]);
    expect(alarms).toEqual([]);
    await ask(codes.slice(2));
    expect(alarms).toEqual([wereValid(3)]);
  });

  it('is raised where the answers are cached: by what the refreshes erase', async () => {
    const { ask, customers, key, sandbox, apiKey } = await shop();
    const codes = customers(4);
    await ask(codes);
    // Nobody listened yet: that these codes were valid is known from the cache.
    const alarms = hearAlarms();
    key.now = keyOfAnother(sandbox, apiKey);
    sandbox.clock.advance(6 * MINUTE);
    await ask(codes);
    await vi.waitFor(() => expect(alarms).toHaveLength(1));
    expect(alarms[0]).toMatchObject({ reason: 'were-valid' });
  });

  it('is raised at once when the service does not know the key any more', async () => {
    const { customers, sandbox, keyApi } = await shop(UNCACHED);
    const alarms = hearAlarms();
    const [code = ''] = customers(1);
    await keyApi.validatePurchase(code);
    sandbox.data.revokeApiKey(sandbox.data.workspaces[0]?.id ?? '');
    expect((await rejection(keyApi.validatePurchase(code))).code).toBe('api_key_rejected');
    expect(alarms).toEqual([
      {
        endpoint: '/api/purchases/validation',
        kind: 'codes-invalid',
        path: 'msg',
        expected: 'an api_key that the service knows',
        reason: 'key-rejected',
        codes: 1,
      },
    ]);
  });

  it('is raised by the twentieth first code, when none was ever valid', async () => {
    const { ask, customers, key, sandbox, apiKey } = await shop(UNCACHED);
    const alarms = hearAlarms();
    key.now = keyOfAnother(sandbox, apiKey);
    const codes = customers(20);
    await ask(codes.slice(0, 19));
    await ask(codes.slice(0, 19));
    expect(alarms).toEqual([]);
    await ask(codes);
    expect(alarms).toHaveLength(1);
    expect(alarms[0]).toMatchObject({ reason: 'never-valid', codes: 20 });
  });

  it('is raised once an hour, for as long as it lasts', async () => {
    const { ask, customers, key, sandbox, apiKey } = await shop(UNCACHED);
    const alarms = hearAlarms();
    const codes = customers(5);
    await ask(codes);
    key.now = keyOfAnother(sandbox, apiKey);
    await ask(codes);
    sandbox.clock.advance(HOUR - MINUTE);
    await ask(codes);
    expect(alarms).toEqual([wereValid(3)]);
    sandbox.clock.advance(MINUTE);
    await ask(codes);
    expect(alarms).toEqual([wereValid(3), wereValid(5)]);
    key.now = apiKey;
    await ask(codes);
    sandbox.clock.advance(HOUR);
    await ask(guesses(3));
    expect(alarms).toHaveLength(2);
  });

  it('holds no code and no key', async () => {
    const { ask, customers, key, sandbox, apiKey } = await shop(UNCACHED);
    const alarms = hearAlarms();
    const codes = customers(3);
    await ask(codes);
    key.now = keyOfAnother(sandbox, apiKey);
    await ask(codes);
    expect(alarms).toHaveLength(1);
    for (const secret of [...codes, apiKey, key.now]) {
      expect(JSON.stringify(alarms)).not.toContain(secret);
    }
  });
});

describe('the alarm is not raised', () => {
  it('for guessers, once there was a customer', async () => {
    const { ask, customers } = await shop();
    const alarms = hearAlarms();
    await ask(customers(1));
    await ask(guesses(200));
    expect(alarms).toEqual([]);
  });

  it('for guessers in a process whose customers came before anybody listened', async () => {
    const { ask, customers } = await shop();
    await ask(customers(1));
    const alarms = hearAlarms();
    await ask(guesses(30));
    expect(alarms).toEqual([]);
  });

  it('for guessers in a process of a fleet whose customers were answered by others', async () => {
    const shared = new MemorySharedCache();
    const { keyApi, baseUrl, apiKey, sandbox, customers } = await shop({ cache: { shared } });
    const [code = ''] = customers(1);
    await keyApi.validatePurchase(code);
    await vi.waitFor(() => expect(shared.values.size).toBe(1));
    const alarms = hearAlarms();
    const other = new KeyApi({ baseUrl, apiKey, cache: { shared }, clock: sandbox.clock });
    onTestFinished(() => other.close());
    expect(await other.validatePurchase(code)).not.toBeNull();
    for (const guess of guesses(30)) await other.validatePurchase(guess);
    expect(alarms).toEqual([]);
  });

  it('for refunds of two codes, however often they are tried', async () => {
    const { ask, customers, sandbox } = await shop(UNCACHED);
    const alarms = hearAlarms();
    const codes = customers(3);
    await ask(codes);
    const refunded = codes.slice(0, 2);
    for (const code of refunded) sandbox.data.refundPurchase(code);
    for (let i = 0; i < 5; i++) await ask([...refunded, ...guesses(5)]);
    expect(alarms).toEqual([]);
  });

  it('for three refunds with a valid code in between', async () => {
    const { ask, customers, sandbox } = await shop(UNCACHED);
    const alarms = hearAlarms();
    const [a = '', b = '', c = '', d = ''] = customers(4);
    await ask([a, b, c, d]);
    for (const code of [a, b, c]) sandbox.data.refundPurchase(code);
    await ask([a, b, d, c]);
    expect(alarms).toEqual([]);
  });

  it('for three refunds in as many days', async () => {
    const { ask, customers, sandbox } = await shop(UNCACHED);
    const alarms = hearAlarms();
    const codes = customers(3);
    await ask(codes);
    for (const code of codes) {
      sandbox.data.refundPurchase(code);
      await ask([code]);
      sandbox.clock.advance(DAY);
    }
    expect(alarms).toEqual([]);
  });

  it('for an outage, which says nothing about codes', async () => {
    const { ask, customers, sandbox, keyApi } = await shop(UNCACHED);
    const alarms = hearAlarms();
    const codes = customers(4);
    await ask(codes);
    sandbox.faults.errorRate = 1;
    for (const code of codes) await rejection(keyApi.validatePurchase(code));
    expect(alarms).toEqual([]);
  });

  it('when the function that gives the key fails', async () => {
    const { keyApi } = await shop({
      ...UNCACHED,
      apiKey: () => Promise.reject(new Error('vault')),
    });
    const alarms = hearAlarms();
    for (const guess of guesses(25)) await rejection(keyApi.validatePurchase(guess));
    expect(alarms).toEqual([]);
  });
});

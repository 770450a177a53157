import type { CacheOptions, KeyApiOptions } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { rejection } from '../../support/errors.js';
import { KeyApiService, settle } from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { CODE } from '../../support/wire.js';

// What the contract promises of processes that share a cache (section 2), seen from outside.

function fleet() {
  const service = new KeyApiService();
  const shared = new MemorySharedCache(() => service.now);
  return {
    service,
    shared,
    join: (cache: CacheOptions = {}, options: Partial<KeyApiOptions> = {}) =>
      service.client({ cache: { shared, ...cache }, ...options }),
  };
}

describe('an api_key that is rejected', () => {
  const REJECTED = 'api_key_rejected';
  const OUTAGE = 'service_unavailable';

  /** Two processes that both hold the account; the key is unknown from then on. */
  async function accountHolders() {
    const given = fleet();
    const processes = [given.join(), given.join()] as const;
    for (const each of processes) await each.getAccount();
    await settle();
    given.service.keys = new Set();
    return { ...given, processes };
  }

  it.each<[string, (one: ReturnType<KeyApiService['client']>) => Promise<unknown>]>([
    ['getAccount', (one) => one.getAccount({ fresh: true })],
    ['the check of the key behind a negative answer', (one) => one.validatePurchase(CODE)],
  ])('withdraws the account in every process: heard by %s', async (_by, hear) => {
    const { service, processes, join } = await accountHolders();
    // The check of a key is remembered for some minutes.
    service.now += 6 * 60_000;
    expect((await rejection(hear(processes[0]))).code).toBe(REJECTED);
    await settle();
    for (const each of [...processes, join()]) {
      expect((await rejection(each.getAccount())).code).toBe(REJECTED);
    }
    service.says = 'outage';
    for (const each of [...processes, join()]) {
      expect((await rejection(each.getAccount())).code).toBe(OUTAGE);
    }
  });

  it('is told later where the shared cache refuses it', async () => {
    const { service, shared, processes, join } = await accountHolders();
    for (const method of ['write', 'publish'] as const) shared.broken.add(method);
    expect((await rejection(processes[0].getAccount({ fresh: true }))).code).toBe(REJECTED);
    service.says = 'outage';
    expect((await rejection(processes[0].getAccount())).code).toBe(OUTAGE);
    shared.broken.clear();
    shared.reconnect();
    await settle();
    for (const each of [...processes, join()]) {
      expect((await rejection(each.getAccount())).code).toBe(OUTAGE);
    }
  });

  it('that is accepted again gives the account again', async () => {
    const { service, processes, join } = await accountHolders();
    await rejection(processes[0].getAccount({ fresh: true }));
    service.keys = undefined;
    for (const each of [...processes, join()]) {
      expect((await each.getAccount()).username).toBe('adanorth');
    }
  });
});

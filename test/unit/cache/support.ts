import type { CacheOptions, KeyApi, KeyApiOptions, SharedCache } from 'marketgate';
import { beforeEach, expect, vi } from 'vitest';
import { expectError } from '../../support/errors.js';
import { KeyApiService, keyApiOn, settle } from '../../support/key-api-service.js';
import { MemorySharedCache, PlainSharedCache } from '../../support/memory-shared-cache.js';
import { account, CODE, item, purchase } from '../../support/wire.js';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const OTHER = 'another-purchase-code';
export const OTHER_KEY = 'b2'.repeat(32);

type Ask = (keyApi: KeyApi, options?: object) => Promise<unknown>;

/** The kinds of answers, how to ask for one, and what it is. */
export const KINDS: [string, Ask, unknown][] = [
  ['account', (keyApi, options) => keyApi.getAccount(options), account],
  ['items', (keyApi, options) => keyApi.listItems(options), [item, { ...item, id: 1043 }]],
  ['item', (keyApi, options) => keyApi.getItem(7, options), { ...item, id: 7 }],
  ['purchase', (keyApi, options) => keyApi.validatePurchase(CODE, options), purchase],
];

/** In the tests of a file or a suite, timers run when the test says so. */
export function moveTimeByHand(): void {
  beforeEach(async () => {
    // Loads what the first call of a client would wait for.
    await new KeyApiService().client().getAccount();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
}

/** A service, and one process with its own cache. */
export const alone = (cache: CacheOptions | false = {}) => keyApiOn({}, { cache });

/** The same, where the process has asked for the purchase. */
export async function aloneWithAnswer(cache?: CacheOptions) {
  const given = alone(cache);
  await given.keyApi.validatePurchase(CODE);
  return given;
}

/** A service, a shared cache, and processes that use it. */
export function fleet() {
  const service = new KeyApiService();
  return fleetOn(service, new MemorySharedCache(() => service.now));
}

/** The same with a shared cache that keeps no order. */
export const plainFleet = () => fleetOn(new KeyApiService(), new PlainSharedCache());

function fleetOn<T extends PlainSharedCache>(service: KeyApiService, shared: T) {
  const join = (cache: CacheOptions = {}, options: Partial<KeyApiOptions> = {}) =>
    service.client({ cache: { shared, ...cache }, ...options });
  return {
    service,
    shared,
    /** Another process. */
    join,
    /** Another process, which has asked for the purchase. */
    async joinAndAsk(...given: Parameters<typeof join>) {
      const keyApi = join(...given);
      await keyApi.validatePurchase(CODE);
      await settle();
      return keyApi;
    },
  };
}

/** The fleet with two processes that have both asked: for the purchase, or for what is given. */
export async function pairOf<F extends { join: () => KeyApi }>(
  given: F,
  ask: (keyApi: KeyApi) => Promise<unknown> = (keyApi) => keyApi.validatePurchase(CODE),
) {
  const [one, two] = [given.join(), given.join()];
  for (const each of [one, two]) await ask(each);
  await settle();
  return { ...given, one, two };
}

/** The service withdraws the purchase, and one process hears of it. */
export async function refund(service: KeyApiService, by: KeyApi): Promise<void> {
  service.says = 'negative';
  expect(await by.validatePurchase(CODE, { fresh: true })).toBeNull();
}

/** The service withdraws the purchase, and the processes ask it again, or know by now. */
export async function expectRefused(service: KeyApiService, ...processes: KeyApi[]): Promise<void> {
  service.says = 'negative';
  for (const each of processes) expect(await each.validatePurchase(CODE)).toBeNull();
}

/** The service cannot be asked, and none of the processes has an answer for the code. */
export async function expectUnavailable(
  service: KeyApiService,
  ...processes: KeyApi[]
): Promise<void> {
  service.says = 'outage';
  for (const each of processes) {
    await expectError(each.validatePurchase(CODE), 'service_unavailable');
  }
}

/** Another way to a shared cache, on which some methods are different. */
export const linkTo = (shared: MemorySharedCache, others: Partial<SharedCache>): SharedCache => ({
  get: (key) => shared.get(key),
  set: (...given) => shared.set(...given),
  delete: (key) => shared.delete(key),
  read: (key) => shared.read(key),
  write: (...given) => shared.write(...given),
  lock: (key) => shared.lock(key),
  publish: (key) => shared.publish(key),
  subscribe: (listener) => shared.subscribe(listener),
  ...others,
});

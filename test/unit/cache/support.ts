import type { CacheOptions, KeyApi, KeyApiOptions, SharedCache } from 'marketgate';
import { beforeEach, expect, vi } from 'vitest';
import { KeyApiService, keyApiOn, settle } from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
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
  ['item', (keyApi, options) => keyApi.getItem(1043, options), { ...item, id: 1043 }],
  ['purchase', (keyApi, options) => keyApi.validatePurchase(CODE, options), purchase],
];

/** A service, and one process with its own cache. */
export const alone = (cache: CacheOptions | false = {}, options: Partial<KeyApiOptions> = {}) =>
  keyApiOn({}, { cache, ...options });

/** The same, where the process has asked for the purchase. */
export async function aloneWithAnswer(cache?: CacheOptions) {
  const given = alone(cache);
  await given.keyApi.validatePurchase(CODE);
  return given;
}

/** In the tests of a file or a suite, timers run when the test says so. */
export function moveTimeByHand(): void {
  beforeEach(async () => {
    // Loads what the first call of a client would wait for.
    await new KeyApiService().client().getAccount();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    // A process that has run for a while, as most have.
    vi.advanceTimersByTime(7 * HOUR);
  });
}

export type Fault = 'cut' | 'frozen' | 'full' | 'without publish' | 'without messages';
/** What each fault refuses. Messages do not arrive where the subscription is refused. */
const REFUSED: Record<Fault, readonly (keyof SharedCache)[]> = {
  cut: ['read', 'write', 'withdraw', 'publish', 'subscribe'],
  frozen: [],
  full: ['write', 'withdraw'],
  'without publish': ['publish'],
  'without messages': ['subscribe'],
};

/** The way of one process to the shared cache, which can be broken. */
export class Link implements SharedCache {
  fault: Fault | undefined;
  #onListening: (isListening: boolean) => void = () => {};

  constructor(private readonly shared: MemorySharedCache) {}

  break(fault: Fault): void {
    this.fault = fault;
    if (this.#refuses('subscribe')) this.#onListening(false);
  }

  mend(): void {
    const wasDeaf = this.#refuses('subscribe');
    this.fault = undefined;
    if (wasDeaf) this.#onListening(true);
  }

  read: SharedCache['read'] = (key) => this.#call('read', () => this.shared.read(key));
  write: SharedCache['write'] = (...given) =>
    this.#call('write', () => this.shared.write(...given));
  withdraw: SharedCache['withdraw'] = (...given) =>
    this.#call('withdraw', () => this.shared.withdraw(...given));
  publish: SharedCache['publish'] = (message) =>
    this.#call('publish', () => this.shared.publish(message));
  subscribe: SharedCache['subscribe'] = (onMessage, onListening) =>
    this.#call('subscribe', () => {
      this.#onListening = onListening;
      const onArrival = (text: string) => !this.#refuses('subscribe') && onMessage(text);
      return this.shared.subscribe(onArrival, onListening);
    });

  #refuses(method: keyof SharedCache): boolean {
    return this.fault !== undefined && REFUSED[this.fault].includes(method);
  }

  async #call<T>(method: keyof SharedCache, run: () => Promise<T>): Promise<T> {
    if (this.fault === 'frozen') return new Promise(() => {});
    if (this.#refuses(method)) throw new Error(`${method} is refused`);
    return run();
  }
}

export type Process = KeyApi & { readonly link: Link };

/** A service, and a shared cache for the processes that join. */
export function fleet() {
  const service = new KeyApiService();
  /** Time passes with the timers, and by `service.later`. */
  const clock = () => service.now + performance.now();
  const shared = new MemorySharedCache(clock);

  const join = (cache: CacheOptions = {}, options: Partial<KeyApiOptions> = {}): Process => {
    const link = new Link(shared);
    const keyApi = service.client({ cache: { shared: link, ...cache }, clock, ...options });
    return Object.assign(keyApi, { link });
  };
  const joinAndAsk = async (...given: Parameters<typeof join>): Promise<Process> => {
    const joined = join(...given);
    await joined.validatePurchase(CODE);
    return joined;
  };
  /** Time passes, by all clocks. */
  const pass = async (milliseconds: number): Promise<void> => {
    await vi.advanceTimersByTimeAsync(milliseconds);
    await settle();
  };
  /** What a call resolves to, while time passes. */
  const during = async <T>(call: Promise<T>): Promise<T> => {
    let isDone = false;
    void Promise.allSettled([call]).then(() => {
      isDone = true;
    });
    for (await settle(); !isDone; ) await pass(5);
    return call;
  };
  return {
    service,
    shared,
    clock,
    join,
    /** Another process, which has asked for the purchase. */
    joinAndAsk,
    /** Two processes that both have the purchase; the second has it from the shared cache. */
    joinTwo: async () => [await joinAndAsk(), await joinAndAsk()] as const,
    pass,
    during,
    /** The service withdraws the purchase, one process asks, and then nobody can. */
    async refund(by: KeyApi): Promise<void> {
      service.says = 'negative';
      expect(await during(by.validatePurchase(CODE, { fresh: true }))).toBeNull();
      service.says = 'outage';
    },
  };
}

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
/** What each fault refuses. `cut` and `frozen` refuse everything, and messages do not arrive. */
const REFUSED: Record<Fault, readonly (keyof SharedCache)[]> = {
  cut: ['read', 'write', 'withdraw', 'publish', 'subscribe'],
  frozen: [],
  full: ['write', 'withdraw'],
  'without publish': ['publish'],
  'without messages': ['subscribe'],
};

/** The way of one process to the shared cache, which can be broken. */
export class Link implements SharedCache {
  readonly shared: MemorySharedCache;
  fault: Fault | undefined;
  #onListening: (isListening: boolean) => void = () => {};
  /** Messages that arrive when the link is no longer frozen. */
  readonly #late: (() => void)[] = [];

  constructor(shared: MemorySharedCache) {
    this.shared = shared;
  }

  break(fault: Fault): void {
    this.mend();
    this.fault = fault;
    if (REFUSED[fault].includes('subscribe')) this.#onListening(false);
  }

  mend(): void {
    const { fault } = this;
    this.fault = undefined;
    for (const arrive of this.#late.splice(0)) arrive();
    if (fault && REFUSED[fault].includes('subscribe')) this.#onListening(true);
  }

  reconnect(): void {
    this.break('cut');
    this.mend();
  }

  read(key: string): ReturnType<SharedCache['read']> {
    return this.#call('read', () => this.shared.read(key));
  }

  write(...given: Parameters<SharedCache['write']>): Promise<boolean> {
    return this.#call('write', () => this.shared.write(...given));
  }

  withdraw(...given: Parameters<SharedCache['withdraw']>): Promise<void> {
    return this.#call('withdraw', () => this.shared.withdraw(...given));
  }

  publish(message: string): Promise<void> {
    return this.#call('publish', () => this.shared.publish(message));
  }

  subscribe(...[onMessage, onListening]: Parameters<SharedCache['subscribe']>) {
    return this.#call('subscribe', () => {
      this.#onListening = onListening;
      return this.shared.subscribe((message) => {
        if (this.fault === 'frozen') this.#late.push(() => onMessage(message));
        else if (!this.fault || !REFUSED[this.fault].includes('subscribe')) onMessage(message);
      }, onListening);
    });
  }

  async #call<T>(method: keyof SharedCache, run: () => Promise<T>): Promise<T> {
    if (this.fault === 'frozen') return new Promise(() => {});
    if (this.fault && REFUSED[this.fault].includes(method)) throw new Error(`${method} is refused`);
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
  const processes: Process[] = [];

  const join = (cache: CacheOptions = {}, options: Partial<KeyApiOptions> = {}): Process => {
    const link = new Link(shared);
    const keyApi = service.client({ cache: { shared: link, ...cache }, clock, ...options });
    const joined = Object.assign(keyApi, { link });
    processes.push(joined);
    return joined;
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
    /** All connections are lost and come back. */
    reconnect(): void {
      for (const { link } of processes) link.reconnect();
    },
    /** The service withdraws the purchase, and one process asks. */
    async refund(by: KeyApi): Promise<void> {
      service.says = 'negative';
      expect(await during(by.validatePurchase(CODE, { fresh: true }))).toBeNull();
    },
    /** The service has withdrawn the purchase, and the processes say so. */
    async expectRefused(...by: KeyApi[]): Promise<void> {
      service.says = 'negative';
      for (const each of by) expect(await during(each.validatePurchase(CODE))).toBeNull();
    },
    /** The processes have the positive answer. */
    async expectSold(...by: KeyApi[]): Promise<void> {
      for (const each of by) {
        expect((await during(each.validatePurchase(CODE)))?.purchase_code).toBe(CODE);
      }
    },
  };
}

import type { SharedCache, SharedRow } from 'marketgate';

interface Row {
  readonly value: string;
  readonly order: number;
  /** By the cache's own clock. */
  readonly expiresAt: number;
}

interface Listener {
  onMessage(message: string): void;
  onListening(isListening: boolean): void;
}

/** A shared cache in memory, for the processes of one test. It has a clock of its own, as Redis has. */
export class MemorySharedCache implements SharedCache {
  readonly rows = new Map<string, Row>();
  /** When each lock expires, by the cache's own clock. */
  readonly locks = new Map<string, number>();
  /** The methods that were called, in order. */
  readonly calls: (keyof SharedCache)[] = [];
  /** The messages that were published, in order. */
  readonly messages: string[] = [];
  /** The methods that reject: all of them as while Redis is down, `write` and `lock` as when it is full. */
  readonly broken = new Set<keyof SharedCache>();
  readonly #listeners = new Set<Listener>();
  readonly #clock: () => number;
  #ticks = 0;

  /** @param clock - epoch milliseconds; by default it stands still. */
  constructor(clock: () => number = () => 1_800_000_000_000) {
    this.#clock = clock;
  }

  /** How many subscriptions there are. */
  get listeners(): number {
    return this.#listeners.size;
  }

  async read(key: string): Promise<SharedRow> {
    this.#called('read');
    const { value, order = 0 } = this.#rowOf(key) ?? {};
    // No two reads have the same time.
    this.#ticks++;
    return { value, order, now: this.#clock() * 1000 + this.#ticks };
  }

  async write(key: string, value: string, ttl: number, order: number): Promise<boolean> {
    this.#called('write');
    if ((this.#rowOf(key)?.order ?? -1) >= order) return false;
    this.rows.set(key, { value, order, expiresAt: this.#clock() + ttl });
    return true;
  }

  async delete(key: string): Promise<void> {
    this.#called('delete');
    this.rows.delete(key);
  }

  async lock(key: string, ttl: number): Promise<(() => Promise<void>) | undefined> {
    this.#called('lock');
    if ((this.locks.get(key) ?? 0) > this.#clock()) return undefined;
    const expiresAt = this.#clock() + ttl;
    this.locks.set(key, expiresAt);
    return async () => {
      if (this.locks.get(key) === expiresAt) this.locks.delete(key);
    };
  }

  async publish(message: string): Promise<void> {
    this.#called('publish');
    this.messages.push(message);
    for (const { onMessage } of [...this.#listeners]) onMessage(message);
  }

  async subscribe(
    onMessage: Listener['onMessage'],
    onListening: Listener['onListening'],
  ): Promise<() => Promise<void>> {
    this.#called('subscribe');
    const listener = { onMessage, onListening };
    this.#listeners.add(listener);
    onListening(true);
    return async () => void this.#listeners.delete(listener);
  }

  /** All connections are lost and come back, as when Redis restarts. The rows stay; `rows.clear()` loses them. */
  reconnect(): void {
    for (const isListening of [false, true]) {
      for (const { onListening } of [...this.#listeners]) onListening(isListening);
    }
  }

  #called(method: keyof SharedCache): void {
    this.calls.push(method);
    if (this.broken.has(method)) throw new Error(`${method} is refused`);
  }

  /** The row of a key, unless it has expired. */
  #rowOf(key: string): Row | undefined {
    const row = this.rows.get(key);
    return row !== undefined && row.expiresAt > this.#clock() ? row : undefined;
  }
}

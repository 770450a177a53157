import type { SharedCache, SharedRow } from 'marketgate';

/** What fails, or is refused as by a Redis that is full or read-only. */
type Method = 'get' | 'set' | 'read' | 'write' | 'delete' | 'lock' | 'publish';

/** A shared cache in memory with the three methods that are needed, and with messages and locks. */
export class PlainSharedCache implements SharedCache {
  readonly values = new Map<string, string>();
  readonly locks = new Set<string>();
  readonly calls: string[] = [];
  readonly messages: (string | undefined)[] = [];
  readonly broken = new Set<Method>();
  readonly #listeners = new Set<(key: string | undefined) => void>();

  async get(key: string): Promise<string | undefined> {
    this.called('get');
    return this.values.get(key);
  }

  async set(key: string, value: string, _ttl: number): Promise<void> {
    this.called('set');
    this.values.set(key, value);
  }

  async delete(key: string): Promise<void> {
    this.called('delete');
    this.values.delete(key);
  }

  async lock(key: string): Promise<(() => Promise<void>) | undefined> {
    this.called('lock');
    if (this.locks.has(key)) return undefined;
    this.locks.add(key);
    return async () => void this.locks.delete(key);
  }

  async subscribe(listener: (key: string | undefined) => void): Promise<() => Promise<void>> {
    this.#listeners.add(listener);
    return async () => void this.#listeners.delete(listener);
  }

  async publish(key: string | undefined): Promise<void> {
    this.called('publish');
    this.messages.push(key);
    for (const listener of this.#listeners) listener(key);
  }

  /** Tells all listeners that they may have missed messages, as after a reconnect. */
  reconnect(): void {
    for (const listener of [...this.#listeners]) listener(undefined);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  protected called(method: Method): void {
    this.calls.push(method);
    if (this.broken.has(method)) throw new Error(`${method} is refused`);
  }
}

interface Row {
  readonly value: string;
  readonly order: number;
  readonly expiresAt: number;
}

/** One that keeps the order of what is written, by a clock of its own, as Redis does. */
export class MemorySharedCache extends PlainSharedCache {
  readonly rows = new Map<string, Row>();
  readonly #clock: () => number;
  #ticks = 0;

  /** @param clock - epoch milliseconds; by default it stands still. */
  constructor(clock: () => number = () => 1_800_000_000_000) {
    super();
    this.#clock = clock;
  }

  async read(key: string): Promise<SharedRow> {
    this.called('read');
    const now = this.#clock();
    const row = this.rows.get(key);
    const isThere = row !== undefined && row.expiresAt > now;
    // No two questions of one microsecond.
    this.#ticks++;
    return {
      value: isThere ? row.value : undefined,
      order: isThere ? row.order : 0,
      ttl: isThere ? row.expiresAt - now : 0,
      now: now * 1000 + this.#ticks,
    };
  }

  override async delete(key: string): Promise<void> {
    await super.delete(key);
    this.rows.delete(key);
  }

  async write(key: string, value: string, ttl: number, order: number): Promise<boolean> {
    this.called('write');
    const row = this.rows.get(key);
    if (row !== undefined && row.expiresAt > this.#clock() && row.order >= order) return false;
    this.rows.set(key, { value, order, expiresAt: this.#clock() + ttl });
    return true;
  }
}

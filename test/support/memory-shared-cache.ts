import type { SharedCache, SharedValue } from 'marketgate';

/** A shared cache in memory, for the processes of one test. Its clock is its own, as that of Redis is. */
export class MemorySharedCache implements SharedCache {
  /** The values, with when they were requested and when they expire. */
  readonly rows = new Map<string, { value: string; from: number; expiresAt: number }>();
  /** Of keys that were withdrawn, for good. */
  readonly #leases = new Map<string, string>();
  /** The methods that were called, in order. */
  readonly calls: (keyof SharedCache)[] = [];
  /** The messages that were published, in order. */
  readonly messages: string[] = [];
  readonly listeners = new Set<(message: string) => void>();
  #withdrawals = 0;

  constructor(private readonly clock: () => number) {}

  async read(key: string): Promise<SharedValue> {
    this.calls.push('read');
    const [row, now] = [this.rows.get(key), this.clock()];
    const lease = this.#leases.get(key) ?? '';
    if (row === undefined || row.expiresAt <= now) return { age: 0, lease };
    return { value: row.value, age: now - row.from, lease };
  }

  async write(...given: Parameters<SharedCache['write']>): Promise<boolean> {
    const [key, value, age, ttl, lease] = given;
    this.calls.push('write');
    if (lease !== (this.#leases.get(key) ?? '')) return false;
    const now = this.clock();
    this.rows.set(key, { value, from: now - age, expiresAt: now + ttl });
    return true;
  }

  async withdraw(key: string, value: string | undefined, ttl: number): Promise<void> {
    this.calls.push('withdraw');
    const now = this.clock();
    this.#leases.set(key, `lease ${++this.#withdrawals}`);
    if (value === undefined) this.rows.delete(key);
    else this.rows.set(key, { value, from: now, expiresAt: now + ttl });
  }

  async publish(message: string): Promise<void> {
    this.calls.push('publish');
    this.messages.push(message);
    for (const onMessage of this.listeners) onMessage(message);
  }

  async subscribe(...[onMessage, onListening]: Parameters<SharedCache['subscribe']>) {
    this.calls.push('subscribe');
    this.listeners.add(onMessage);
    onListening(true);
    return async () => void this.listeners.delete(onMessage);
  }

  /** Loses everything, as a restart without persistence does. */
  clear(): void {
    this.rows.clear();
    this.#leases.clear();
  }
}

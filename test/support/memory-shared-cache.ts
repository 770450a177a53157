import type { SharedCache } from 'marketgate';

interface Row {
  readonly value: string;
  /** When it was requested, and when it expires, by the cache's own clock. */
  readonly from: number;
  readonly expiresAt: number;
}

interface Listener {
  onMessage(message: string): void;
  onListening(isListening: boolean): void;
}

/** How long the end of a lease is remembered, in milliseconds. */
const LEASE_LIFE = 120_000;

/** A shared cache in memory, for the processes of one test. It has a clock of its own, as Redis has. */
export class MemorySharedCache implements SharedCache {
  readonly rows = new Map<string, Row>();
  readonly leases = new Map<string, { readonly text: string; readonly expiresAt: number }>();
  /** The methods that were called, in order. */
  readonly calls: (keyof SharedCache)[] = [];
  /** The messages that were published, in order. */
  readonly messages: string[] = [];
  /** The methods that reject: all of them as while Redis is down, `write` and `withdraw` as when it is full. */
  readonly broken = new Set<keyof SharedCache>();
  readonly #listeners = new Set<Listener>();
  readonly #clock: () => number;
  #withdrawals = 0;

  /** @param clock - milliseconds; by default it stands still. */
  constructor(clock: () => number = () => 1_800_000_000_000) {
    this.#clock = clock;
  }

  /** How many subscriptions there are. */
  get listeners(): number {
    return this.#listeners.size;
  }

  async read(key: string): Promise<{ value?: string; age: number; lease: string }> {
    this.#called('read');
    const row = this.rows.get(key);
    const lease = this.#leaseOf(key);
    if (row === undefined || row.expiresAt <= this.#clock()) return { age: 0, lease };
    return { value: row.value, age: this.#clock() - row.from, lease };
  }

  async write(
    key: string,
    value: string,
    age: number,
    ttl: number,
    lease: string,
  ): Promise<boolean> {
    this.#called('write');
    if (lease !== this.#leaseOf(key)) return false;
    const now = this.#clock();
    this.rows.set(key, { value, from: now - age, expiresAt: now + ttl });
    return true;
  }

  async withdraw(key: string, value: string | undefined, ttl: number): Promise<void> {
    this.#called('withdraw');
    const now = this.#clock();
    this.#withdrawals++;
    this.leases.set(key, { text: `lease ${this.#withdrawals}`, expiresAt: now + LEASE_LIFE });
    this.rows.delete(key);
    if (value !== undefined) this.rows.set(key, { value, from: now, expiresAt: now + ttl });
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

  /** All connections are lost and come back, as when Redis restarts. The rows stay; {@link clear} loses them. */
  reconnect(): void {
    for (const isListening of [false, true]) {
      for (const { onListening } of [...this.#listeners]) onListening(isListening);
    }
  }

  /** Loses everything, as a restart without persistence does. */
  clear(): void {
    this.rows.clear();
    this.leases.clear();
  }

  #called(method: keyof SharedCache): void {
    this.calls.push(method);
    if (this.broken.has(method)) throw new Error(`${method} is refused`);
  }

  #leaseOf(key: string): string {
    const lease = this.leases.get(key);
    return lease !== undefined && lease.expiresAt > this.#clock() ? lease.text : '';
  }
}

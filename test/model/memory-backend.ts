import type { SharedRow } from 'marketgate';
import { MemorySharedCache } from '../support/memory-shared-cache.js';
import type { Backend, Link, LinkState } from './fleet-model.js';

/** The model's shared cache in memory, with a link for each process. */
export class MemoryBackend implements Backend {
  readonly isPrompt = true;
  readonly #server: MemorySharedCache;
  readonly #links: MemoryLink[] = [];

  constructor(clock: () => number) {
    this.#server = new MemorySharedCache(clock);
  }

  link(): Link {
    const link = new MemoryLink(this.#server);
    this.#links.push(link);
    return link;
  }

  async restartEmpty(): Promise<void> {
    this.#server.rows.clear();
    this.#server.locks.clear();
    for (const link of this.#links) link.reconnect();
  }

  async evict(n: number): Promise<void> {
    const names = [...this.#server.rows.keys()];
    this.#server.rows.delete(names[n % names.length] ?? '');
  }
}

class MemoryLink implements Link {
  readonly #server: MemorySharedCache;
  #state: LinkState = 'up';
  #listener: ((key: string | undefined) => void) | undefined;

  constructor(server: MemorySharedCache) {
    this.#server = server;
  }

  setState(state: LinkState): void {
    const isBack = this.#state === 'cut' && state !== 'cut';
    this.#state = state;
    if (isBack) this.reconnect();
  }

  reconnect(): void {
    if (this.#state !== 'cut') this.#listener?.(undefined);
  }

  async get(key: string): Promise<string | undefined> {
    this.#mustBe('up', 'read-only', 'full');
    return this.#server.get(key);
  }

  async set(key: string, value: string, ttl: number): Promise<void> {
    this.#mustBe('up');
    return this.#server.set(key, value, ttl);
  }

  async delete(key: string): Promise<void> {
    this.#mustBe('up', 'full');
    return this.#server.delete(key);
  }

  async read(key: string): Promise<SharedRow> {
    this.#mustBe('up', 'read-only', 'full');
    return this.#server.read(key);
  }

  async write(key: string, value: string, ttl: number, order: number): Promise<boolean> {
    this.#mustBe('up');
    return this.#server.write(key, value, ttl, order);
  }

  async lock(key: string): Promise<(() => Promise<void>) | undefined> {
    this.#mustBe('up');
    return this.#server.lock(key);
  }

  async subscribe(listener: (key: string | undefined) => void): Promise<() => Promise<void>> {
    this.#listener = listener;
    return this.#server.subscribe((key) => {
      if (this.#state !== 'cut') listener(key);
    });
  }

  async publish(key: string | undefined): Promise<void> {
    this.#mustBe('up', 'read-only', 'full');
    return this.#server.publish(key);
  }

  #mustBe(...states: LinkState[]): void {
    if (!states.includes(this.#state)) throw new Error(`the link is ${this.#state}`);
  }
}

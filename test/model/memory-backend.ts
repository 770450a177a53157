import { MemorySharedCache } from '../support/memory-shared-cache.js';
import { type Backend, Link } from './fleet-model.js';

/** The model's shared cache in memory, with a link for each process. */
export class MemoryBackend implements Backend {
  readonly isPrompt = true;
  readonly #server: MemorySharedCache;
  readonly #links: Link[] = [];

  constructor(clock: () => number) {
    this.#server = new MemorySharedCache(clock);
  }

  link(): Link {
    const link = new Link(this.#server, false);
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

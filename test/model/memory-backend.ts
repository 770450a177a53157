import { MemorySharedCache } from '../support/memory-shared-cache.js';
import { type Backend, Link } from './fleet-model.js';

/** The model's shared cache in memory, with a link for each process. */
export class MemoryBackend implements Backend {
  readonly isPrompt = true;
  readonly #server: MemorySharedCache;
  readonly #links: Link[] = [];

  constructor(
    clock: () => number,
    readonly isOrdered = true,
  ) {
    this.#server = new MemorySharedCache(clock);
  }

  link(): Link {
    const link = new Link(this.#server, false, this.isOrdered);
    this.#links.push(link);
    return link;
  }

  async restartEmpty(): Promise<void> {
    this.#server.rows.clear();
    this.#server.values.clear();
    this.#server.locks.clear();
    for (const link of this.#links) link.reconnect();
  }

  async evict(n: number): Promise<void> {
    const { rows, values } = this.#server;
    const names = [...rows.keys(), ...values.keys()];
    const name = names[n % names.length] ?? '';
    rows.delete(name);
    values.delete(name);
  }
}

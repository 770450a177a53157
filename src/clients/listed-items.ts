import type { Answer, Positive } from '../cache/answer.js';
import type { Cache } from '../cache/cache.js';
import type { CallOptions } from '../cache/in-flight.js';
import { checkSignal } from '../deadline.js';
import type { Item } from '../model/item.js';
import { NO_PARAMETER } from './key-endpoints.js';

/** A cached list by id, without the items that a later answer says are gone. */
interface Index {
  readonly list: readonly Item[];
  readonly byId: Map<number, Item>;
  /** Ids that were compared with the shared cache, and have no later negative answer there. */
  confirmed: Set<number>;
}

/**
 * Gets single items from the cached list, so that one `listItems` answers `getItem` for the whole catalogue,
 * and otherwise from their own cache. The later answer counts: an item is not served from a list when
 * it was itself requested after that list.
 */
export class ListedItems {
  #index: Index | undefined;

  constructor(
    private readonly listCache: Cache<Item[]>,
    private readonly itemCache: Cache<Item>,
  ) {}

  /** An item: from a list within its ttl, from its own cache, from the service, or in an outage from a stale list. */
  async get(id: number, options: CallOptions): Promise<Item | null> {
    const { fresh = false, signal } = options;
    if (signal !== undefined) checkSignal(signal);
    const list = fresh ? undefined : this.listCache.withinTtl(NO_PARAMETER);
    const listed = list && (await this.#find(id, list));
    if (listed !== undefined) return this.itemCache.served(listed, options).value;
    try {
      const item = await this.itemCache.get(String(id), options);
      // The negative answer can be evicted before the list.
      const last = item === null ? this.listCache.last(NO_PARAMETER) : undefined;
      if (last && this.#isRequestedSince(id, last)) this.#indexOf(last).byId.delete(id);
      return item;
    } catch (error) {
      // `listItems` still serves this list, so its items are served too.
      const last = this.listCache.staleIfError(NO_PARAMETER, error, options);
      const stale = last && (await this.#find(id, last));
      if (stale === undefined) throw error;
      return this.itemCache.served(stale, options, true).value;
    }
  }

  /** Whether an item is in the last list. */
  has(id: number): boolean {
    const list = this.listCache.last(NO_PARAMETER);
    return list !== undefined && this.#indexOf(list).byId.has(id);
  }

  /** Another process has invalidated an item. Returns whether it was in the last list. */
  onInvalidated(id: number): boolean {
    const list = this.listCache.last(NO_PARAMETER);
    return list !== undefined && this.#indexOf(list).byId.delete(id);
  }

  /** Messages about items were missed. */
  onMissed(): void {
    // A new set, because a lookup that began before can still add to the old one.
    if (this.#index !== undefined) this.#index.confirmed = new Set();
  }

  /** The item in a list, unless a later request of any process was about that item itself. */
  async #find(
    id: number,
    list: Positive<Item[]>,
  ): Promise<(Answer<Item> & { value: Item }) | undefined> {
    const { byId, confirmed } = this.#indexOf(list);
    if (!byId.has(id) || this.#isRequestedSince(id, list)) return undefined;
    if (!confirmed.has(id)) {
      // Asked once: later invalidations arrive as messages.
      const isInvalidated = await this.itemCache.isInvalidatedSince(String(id), list.order);
      if (isInvalidated || this.#isRequestedSince(id, list)) return undefined;
      if (isInvalidated === false) confirmed.add(id);
    }
    const value = byId.get(id);
    return value && { value, at: list.at };
  }

  /** Within the same millisecond the order is not known, so the item's own answer counts. */
  #isRequestedSince(id: number, list: Positive<Item[]>): boolean {
    return (this.itemCache.lastRequestedAt(String(id)) ?? Number.NEGATIVE_INFINITY) >= list.at;
  }

  #indexOf({ value: list }: Positive<Item[]>): Index {
    if (this.#index?.list !== list) {
      const byId = new Map(list.map((item) => [item.id, item]));
      this.#index = { list, byId, confirmed: new Set() };
    }
    return this.#index;
  }
}

import type { Answer, Cache, VisitorCallOptions } from '../cache/cache.js';
import { NoAnswer, withTimeout } from '../deadline.js';
import { warnOnce } from '../diagnostics.js';
import { isMarketgateError } from '../errors.js';
import { failureOf } from '../http/failure.js';
import type { Item, ItemList } from '../model/item.js';
import { flag } from '../options.js';
import { NO_PARAMETER } from './key-endpoints.js';

/** Milliseconds for which an item is asked for without the list, after that could not be had. */
const PAUSE = 60_000;

/** The caches that a {@link Catalogue} looks into. */
interface Caches {
  readonly items: Cache<ItemList>;
  readonly item: Cache<Item>;
}

/**
 * Finds an item: in the list of all items, which is asked for where it is not fresh, so that pages of items cost one request
 * for all. Only where the list does not say, the item is asked for by itself.
 */
export class Catalogue {
  /** The items of the list that was last looked into, by id. */
  #index: { readonly list: ItemList; readonly byId: ReadonlyMap<number, Item> } | undefined;
  /** Until when it does without the list. */
  #noListUntil = Number.NEGATIVE_INFINITY;

  /** @param timeout milliseconds of one call. @param clock milliseconds, for durations. */
  constructor(
    private readonly caches: Caches,
    private readonly timeout: number,
    private readonly clock: () => number,
  ) {}

  async find(id: number, options: VisitorCallOptions): Promise<Item | null> {
    const { item, items } = this.caches;
    const isFresh = flag('KeyApi', 'fresh', options.fresh);
    const begunAt = performance.now();
    const list = isFresh ? undefined : await this.#freshList(options.signal);
    const listed = list && this.#inList(id, list);
    if (listed !== undefined) return item.served('cache', listed);
    try {
      return (await item.get(String(id), options, true, performance.now() - begunAt)).value;
    } catch (error) {
      // `listItems` still serves this list, so its items are served too.
      const isUseful = !isFresh && !options.signal?.aborted;
      const stale = isUseful ? items.staleIfError(NO_PARAMETER, error) : undefined;
      const last = stale && this.#inList(id, stale);
      if (!last) throw error;
      return item.served('stale-if-error', last);
    }
  }

  /** The list, not past its `ttl`; `undefined`: it cannot be had. */
  async #freshList(signal: AbortSignal | undefined): Promise<Answer<ItemList> | undefined> {
    const { items } = this.caches;
    const list = items.fresh(NO_PARAMETER);
    if (list || this.clock() < this.#noListUntil) return list;
    try {
      // A list that hangs leaves time to ask for the item.
      return await withTimeout(this.timeout / 2, () => items.get(NO_PARAMETER, { signal }, false));
    } catch (error) {
      if (signal?.aborted || failureOf(error)?.code === 'CLOSED') throw error;
      this.#noListUntil = this.clock() + PAUSE;
      const isOwn = isMarketgateError(error) || error instanceof NoAnswer;
      warnOnce('MARKETGATE_NO_CATALOGUE', isOwn ? `: ${error.message}` : '');
      return undefined;
    }
  }

  /**
   * An item by a list; `null`: it has none of that id. `undefined`: the list does not say, because it is empty or has
   * items that could not be read, or because the item itself was asked for later.
   */
  #inList(id: number, { value: list, at }: Answer<ItemList>): Item | null | undefined {
    if (list === null || this.caches.item.knownSince(String(id)) >= at) return undefined;
    if (this.#index?.list !== list) {
      this.#index = { list, byId: new Map(list.items.map((item) => [item.id, item])) };
    }
    const item = this.#index.byId.get(id);
    return item ?? (list.isWhole && list.items.length > 0 ? null : undefined);
  }
}

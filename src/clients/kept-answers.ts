import { Cache, type CacheParts, type LookupOptions, type Positive } from '../cache/cache.js';
import type { CacheSettings } from '../cache/options.js';
import { SharedTier } from '../cache/shared-tier.js';
import { isMarketgateError } from '../errors.js';
import type { ClientSettings } from '../http/client-options.js';
import type { Account } from '../model/account.js';
import type { Item } from '../model/item.js';
import type { Purchase } from '../model/purchase.js';
import { canonicalCode } from '../model/purchase.js';
import { deepFreeze } from '../shape/deep-freeze.js';
import type { ItemPool } from './item-pool.js';
import type { KeyService } from './service.js';
import { SHARED_SHAPES } from './shared-shapes.js';

/** The one key of what there is one of. */
const ONLY = '';

/** Answers of the key API that are kept: one cache for each kind of question. */
export class KeptAnswers {
  readonly #account: Cache<Account>;
  readonly #list: Cache<Item[]>;
  readonly #items: Cache<Item>;
  readonly #purchases: Cache<Purchase>;
  readonly #service: KeyService;
  readonly #pool: ItemPool;
  readonly #shared: SharedTier | undefined;
  /** The items of a list of which the shared cache has no later negative answer. */
  #listedStill = new WeakMap<readonly Item[], Set<number>>();

  constructor(
    service: KeyService,
    { limits, shared, secret, scope }: CacheSettings,
    {
      clock,
      monotonicClock,
      timeout,
    }: Pick<ClientSettings, 'clock' | 'monotonicClock' | 'timeout'>,
    baseUrl: string,
    apiKey: () => string | Promise<string>,
    pool: ItemPool,
  ) {
    this.#pool = pool;
    this.#service = service;
    this.#shared =
      shared &&
      new SharedTier(shared, {
        limits,
        clock: monotonicClock,
        wallClock: clock,
        timeout,
        drift: service.drift,
        secret: () => secret ?? apiKey(),
        context: `${baseUrl}\n${scope ?? ''}`,
        onInvalidated: (kind, key, order) => {
          const list = this.#list.last(ONLY);
          if (kind === 'item' && list !== undefined) pool.withdraw(list.value, Number(key));
          return this.#cacheOf(kind)?.invalidated(key, order);
        },
        onAllInvalidated: (until) => this.#clear(until),
        onMissed: () => {
          for (const cache of this.#all()) cache.missed();
          this.#listedStill = new WeakMap();
        },
      });
    const cacheOf = <T extends object>(
      what: CacheParts<T>['what'],
      parts: Pick<CacheParts<T>, 'request' | 'isNegative' | 'freeze' | 'onShared'>,
    ): Cache<T> =>
      new Cache<T>({
        what,
        limits,
        clock: monotonicClock,
        isShape: SHARED_SHAPES[what],
        shared: this.#shared,
        ...parts,
      });
    this.#account = cacheOf<Account>('account', {
      request: (_key, how) => service.account(how),
      // For account/details this is the negative answer: it withdraws a positive one, as any other does.
      isNegative: (error) => isMarketgateError(error) && error.code === 'api_key_rejected',
      freeze: deepFreeze,
    });
    // Also when it was heard while a key was checked. What cannot be sent now is sent later.
    service.onKeyRejected = () => void this.#account.invalidate(ONLY).catch(() => {});
    this.#list = cacheOf<Item[]>('items', {
      request: (_key, how) => service.items(how),
      freeze: (list) => pool.internList(list),
    });
    this.#items = cacheOf<Item>('item', {
      request: (id, how) => service.item(Number(id), how),
      freeze: (item) => pool.intern(item),
    });
    this.#purchases = cacheOf<Purchase>('purchase', {
      request: (code, how) => service.purchase(code, how),
      freeze: (purchase) => frozen(purchase, pool),
      // Another process's positive answer tells as much about the api_key as one of our own.
      onShared: (code) => service.alarm.yes(code),
    });
  }

  async account(options: LookupOptions): Promise<Account> {
    // Never null: the negative answer of account/details is an exception, `api_key_rejected`.
    return (await this.#account.get(ONLY, options)) ?? this.#service.account(options);
  }

  list(options: LookupOptions): Promise<Item[] | null> {
    return this.#list.get(ONLY, options);
  }

  async item(id: number, options: LookupOptions): Promise<Item | null> {
    if (options.fresh) return this.#ask(id, options);
    const list = this.#list.fresh(ONLY);
    const listed = list && (await this.#listed(id, list));
    if (listed !== undefined) {
      this.#items.served(listed);
      return listed.value;
    }
    try {
      return await this.#ask(id, options);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      // The list is still served, so what is in it must be as well.
      const last = await this.#listed(id, this.#list.staleIfError(ONLY, error));
      if (last === undefined) throw error;
      this.#items.servedStale(last);
      return last.value;
    }
  }

  async #ask(id: number, options: LookupOptions): Promise<Item | null> {
    const item = await this.#items.get(String(id), options);
    if (item === null) this.#withdraw(id);
    return item;
  }

  purchase(code: string, options: LookupOptions): Promise<Purchase | null> {
    return this.#purchases.get(canonicalCode(code), options, code);
  }

  peekPurchase(code: string): Purchase | null | undefined {
    return this.#purchases.peek(canonicalCode(code), code)?.value;
  }

  /** Forgets one code, in the whole fleet. */
  forgetPurchase(code: string): Promise<void> {
    return this.#purchases.invalidate(canonicalCode(code));
  }

  /** Forgets everything, in the whole fleet. */
  async forgetAll(): Promise<void> {
    this.#clear();
    await this.#shared?.invalidateAll();
  }

  close(): void {
    for (const cache of this.#all()) cache.close();
    this.#shared?.close();
  }

  #clear(until?: number): void {
    for (const cache of this.#all()) cache.clear(until);
  }

  #all(): Cache<never>[] {
    return [this.#account, this.#list, this.#items, this.#purchases] as unknown as Cache<never>[];
  }

  #cacheOf(kind: string): Cache<never> | undefined {
    const caches: Record<string, unknown> = {
      account: this.#account,
      items: this.#list,
      item: this.#items,
      purchase: this.#purchases,
    };
    return Object.hasOwn(caches, kind) ? (caches[kind] as Cache<never>) : undefined;
  }

  /** The item in a list, unless the service was asked about the item itself since, by any process. */
  async #listed(id: number, list: Positive<Item[]> | undefined): Promise<Listed | undefined> {
    if (list === undefined) return undefined;
    // What the service said of the item itself since: also a no that is not served any more. In the same
    // millisecond as well, for a no must not be overruled.
    if ((this.#items.lastAsked(String(id)) ?? Number.NEGATIVE_INFINITY) >= list.at)
      return undefined;
    const index = this.#pool.indexOf(list.value);
    if (!index.has(id)) return undefined;
    const known = this.#listedStill.get(list.value) ?? new Set();
    if (this.#shared !== undefined && !known.has(id)) {
      // Looked for once: what is withdrawn later comes as a message.
      const isGone = await this.#items.isWithdrawnSince(String(id), list.order);
      if (isGone) this.#pool.withdraw(list.value, id);
      else this.#listedStill.set(list.value, known.add(id));
    }
    const value = index.get(id);
    return value && { value, at: list.at };
  }

  /** Takes an item that is gone out of the list of before: its own *no* may be pushed out by others. */
  #withdraw(id: number): void {
    const list = this.#list.last(ONLY);
    if (list === undefined) return;
    const asked = this.#items.lastAsked(String(id)) ?? Number.NEGATIVE_INFINITY;
    if (asked >= list.at) this.#pool.withdraw(list.value, id);
  }
}

/** An item out of a list, and when the list was asked for. */
interface Listed {
  readonly value: Item;
  readonly at: number;
}

/** A purchase that shares its item with all others of it. */
function frozen(purchase: Purchase, pool: ItemPool): Purchase {
  if (Object.isFrozen(purchase)) return purchase;
  purchase.item = pool.intern(purchase.item);
  return deepFreeze(purchase);
}

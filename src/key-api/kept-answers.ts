import { isMarketgateError } from '../errors/marketgate-error.js';
import { deepFreeze } from '../shape/deep-freeze.js';
import type { Account } from './account.js';
import { AnswerCache } from './cache/answer-cache.js';
import type { Ask, FleetSpace, LookupOptions } from './cache/ask.js';
import type { CacheSettings } from './cache/cache-options.js';
import { Fleet } from './cache/fleet.js';
import type { Answered, Yes } from './cache/flights.js';
import type { Item } from './item.js';
import type { ItemPool } from './item-pool.js';
import type { Purchase } from './purchase.js';
import type { KeyService } from './service.js';
import { SHARED_SHAPES } from './shared-shapes.js';

/** The one key of what there is one of. */
const ONLY = '';

/** Answers of interface A that are kept: one cache for each kind of question. */
export class KeptAnswers {
  readonly #account: AnswerCache<Account>;
  readonly #list: AnswerCache<Item[]>;
  readonly #items: AnswerCache<Item>;
  readonly #purchases: AnswerCache<Purchase>;
  readonly #service: KeyService;
  readonly #pool: ItemPool;
  readonly #fleet: Fleet | undefined;

  constructor(
    service: KeyService,
    { limits, shared, secret }: CacheSettings,
    { clock, timeout }: { readonly clock: () => number; readonly timeout: number },
    apiKey: () => string | Promise<string>,
    pool: ItemPool,
  ) {
    this.#pool = pool;
    this.#service = service;
    this.#fleet =
      shared &&
      new Fleet(shared, {
        limits,
        clock,
        timeout,
        drift: service.drift,
        shapes: SHARED_SHAPES,
        secret: () => secret ?? apiKey(),
        onForget: (kind, key) => this.#forgetHere(kind, key),
      });
    const account: Ask<Account> = async (_key, how) => {
      try {
        return await service.account(how);
      } catch (error) {
        // For account/details this is the no: it erases a yes, as any other does.
        const isNo = isMarketgateError(error) && error.code === 'api_key_rejected';
        if (isNo) this.#account.forget(ONLY);
        throw error;
      }
    };
    this.#account = new AnswerCache(
      'account',
      limits,
      clock,
      account,
      deepFreeze,
      this.#space('account'),
    );
    this.#list = new AnswerCache(
      'items',
      limits,
      clock,
      (_key, how) => service.items(how),
      (list) => pool.internList(list),
      this.#space('items'),
    );
    this.#items = new AnswerCache(
      'item',
      limits,
      clock,
      (id, how) => service.item(Number(id), how),
      (item) => pool.intern(item),
      this.#space('item'),
    );
    this.#purchases = new AnswerCache(
      'purchase',
      limits,
      clock,
      (code, how) => service.purchase(code, how),
      (purchase, code) => settled(purchase, code, pool),
      this.#space('purchase'),
    );
  }

  async account(options: LookupOptions): Promise<Account> {
    // Never null: the no of account/details is an exception, `api_key_rejected`.
    return (await this.#account.get(ONLY, options)) ?? this.#service.account(options);
  }

  list(options: LookupOptions): Promise<Item[] | null> {
    return this.#list.get(ONLY, options);
  }

  async item(id: number, options: LookupOptions): Promise<Item | null> {
    if (options.fresh) return this.#ask(id, options);
    const listed = this.#listed(id, this.#list.lookFresh(ONLY));
    if (listed !== undefined) {
      this.#items.served(listed);
      return listed.value;
    }
    try {
      return await this.#ask(id, options);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      // The list is still served, so what is in it must be as well.
      const last = this.#listed(id, this.#list.lastResort(ONLY, error));
      if (last === undefined) throw error;
      this.#items.servedLast(last);
      return last.value;
    }
  }

  async #ask(id: number, options: LookupOptions): Promise<Item | null> {
    const item = await this.#items.get(String(id), options);
    if (item === null) this.#withdraw(id);
    return item;
  }

  purchase(code: string, options: LookupOptions): Promise<Purchase | null> {
    return this.#purchases.get(code, options);
  }

  peekPurchase(code: string): Purchase | null | undefined {
    return this.#purchases.peek(code)?.value;
  }

  /** Forgets one code, in the whole fleet. */
  async forgetPurchase(code: string): Promise<void> {
    this.#purchases.forget(code);
    await this.#fleet?.forget('purchase', code);
  }

  /** Forgets everything, in the whole fleet. */
  async forgetAll(): Promise<void> {
    this.#forgetHere('', undefined);
    await this.#fleet?.forgetAll();
  }

  async close(): Promise<void> {
    for (const cache of this.#all()) cache.close();
    await this.#fleet?.close();
  }

  #all(): AnswerCache<Account | Item[] | Item | Purchase>[] {
    return [this.#account, this.#list, this.#items, this.#purchases] as AnswerCache<
      Account | Item[] | Item | Purchase
    >[];
  }

  #forgetHere(kind: string, key: string | undefined): void {
    if (key === undefined) {
      for (const cache of this.#all()) cache.forget();
    } else if (kind === 'purchase') {
      this.#purchases.forget(key);
    } else if (kind === 'item') {
      this.#items.forget(key);
    } else if (kind === 'items') {
      this.#list.forget(key);
    } else if (kind === 'account') {
      this.#account.forget(key);
    }
  }

  #space<T extends object>(kind: string): FleetSpace<T> | undefined {
    const fleet = this.#fleet;
    return (
      fleet && {
        answer: async (key, ask, keep) => {
          const found = await fleet.answer<T>(kind, key, ask, keep);
          // Another process's yes tells as much about the api_key as one of our own.
          if (kind === 'purchase' && found.value !== null) this.#service.alarm.yes(key);
          return found;
        },
        tell: (key, answered) => fleet.tell(kind, key, answered),
        erase: (key, no) => fleet.erase(kind, key, no),
      }
    );
  }

  /** The item in a list, unless the service was asked about the item itself since. */
  #listed(id: number, list: Answered<Item[]> | undefined): Yes<Item> | undefined {
    if (!list?.value) return undefined;
    // What the service said of the item itself since: also a no that is not served any more. In the same
    // millisecond as well, for a no must not be overruled.
    if ((this.#items.lastAsked(String(id)) ?? Number.NEGATIVE_INFINITY) >= list.at)
      return undefined;
    const value = this.#pool.indexOf(list.value).get(id);
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

/** A purchase that shares its item with all others of it, and its code with the cache's own key. */
function settled(purchase: Purchase, code: string, pool: ItemPool): Purchase {
  if (Object.isFrozen(purchase)) return purchase;
  purchase.item = pool.intern(purchase.item);
  if (purchase.purchase_code === code) purchase.purchase_code = code;
  return deepFreeze(purchase);
}

import { isMarketgateError } from '../errors/marketgate-error.js';
import type { Account } from './account.js';
import { AnswerCache, type LookupOptions } from './cache/answer-cache.js';
import type { CacheSettings } from './cache/cache-options.js';
import type { Item } from './item.js';
import type { Purchase } from './purchase.js';
import type { KeyService } from './service.js';

/** The one key of what there is one of. */
const ONLY = '';

/** Answers of interface A that are kept: one cache for each kind of question. */
export class KeptAnswers {
  readonly #account: AnswerCache<Account>;
  readonly #list: AnswerCache<Item[]>;
  readonly #items: AnswerCache<Item>;
  readonly #purchases: AnswerCache<Purchase>;
  // The list by id, made with the first item that is looked for in it.
  readonly #byId = new WeakMap<readonly Item[], ReadonlyMap<number, Item>>();

  readonly #service: KeyService;

  constructor(service: KeyService, settings: CacheSettings, clock: () => number) {
    this.#service = service;
    this.#account = new AnswerCache(settings, clock, async (_key, how) => {
      try {
        return await service.account(how);
      } catch (error) {
        // For account/details this is the no: it erases a yes, as any other does.
        const isNo = isMarketgateError(error) && error.code === 'api_key_rejected';
        if (isNo) this.#account.forget(ONLY);
        throw error;
      }
    });
    this.#list = new AnswerCache(settings, clock, (_key, how) => service.items(how));
    this.#items = new AnswerCache(settings, clock, (id, how) => service.item(Number(id), how));
    this.#purchases = new AnswerCache(settings, clock, (code, how) => service.purchase(code, how));
  }

  async account(options: LookupOptions): Promise<Account> {
    // Never null: the no of account/details is an exception, `api_key_rejected`.
    return (await this.#account.get(ONLY, options)) ?? this.#service.account(options);
  }

  list(options: LookupOptions): Promise<Item[] | null> {
    return this.#list.get(ONLY, options);
  }

  async item(id: number, options: LookupOptions): Promise<Item | null> {
    const listed = options.fresh ? undefined : this.#listed(id);
    return listed ?? this.#items.get(String(id), options);
  }

  purchase(code: string, options: LookupOptions): Promise<Purchase | null> {
    return this.#purchases.get(code, options);
  }

  peekPurchase(code: string): Purchase | null | undefined {
    return this.#purchases.peek(code)?.value;
  }

  forgetPurchase(code: string): void {
    this.#purchases.forget(code);
  }

  forgetAll(): void {
    for (const cache of [this.#account, this.#list, this.#items, this.#purchases]) cache.forget();
  }

  close(): void {
    for (const cache of [this.#account, this.#list, this.#items, this.#purchases]) cache.close();
  }

  /** The item in a fresh list, unless the service was asked about the item itself since. */
  #listed(id: number): Item | undefined {
    const list = this.#list.peekFresh(ONLY);
    if (!list?.value) return undefined;
    const own = this.#items.peek(String(id));
    if (own !== undefined && own.at > list.at) return undefined;
    let byId = this.#byId.get(list.value);
    if (byId === undefined) {
      byId = new Map(list.value.map((item) => [item.id, item]));
      this.#byId.set(list.value, byId);
    }
    return byId.get(id);
  }
}

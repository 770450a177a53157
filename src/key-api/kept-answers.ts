import { isMarketgateError } from '../errors/marketgate-error.js';
import type { Account } from './account.js';
import { AnswerCache } from './cache/answer-cache.js';
import type { Ask, FleetSpace, LookupOptions } from './cache/ask.js';
import type { CacheSettings } from './cache/cache-options.js';
import { Fleet } from './cache/fleet.js';
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

  readonly #fleet: Fleet | undefined;

  constructor(
    service: KeyService,
    { limits, shared, secret }: CacheSettings,
    { clock, timeout }: { readonly clock: () => number; readonly timeout: number },
    apiKey: () => string | Promise<string>,
  ) {
    this.#service = service;
    this.#fleet =
      shared &&
      new Fleet(
        shared,
        limits,
        { clock, timeout },
        () => secret ?? apiKey(),
        (kind, key) => this.#forgetHere(kind, key),
      );
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
    this.#account = new AnswerCache('account', limits, clock, account, this.#space('account'));
    this.#list = new AnswerCache(
      'items',
      limits,
      clock,
      (_key, how) => service.items(how),
      this.#space('items'),
    );
    this.#items = new AnswerCache(
      'item',
      limits,
      clock,
      (id, how) => service.item(Number(id), how),
      this.#space('item'),
    );
    this.#purchases = new AnswerCache(
      'purchase',
      limits,
      clock,
      (code, how) => service.purchase(code, how),
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
    const listed = options.fresh ? undefined : this.#listed(id);
    return listed ?? this.#items.get(String(id), options);
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
        answer: (key, ask, keep) => fleet.answer(kind, key, ask, keep),
        tell: (key, answered) => fleet.tell(kind, key, answered),
        erase: (key, no) => fleet.erase(kind, key, no),
      }
    );
  }

  /** The item in a fresh list, unless the service was asked about the item itself since. */
  #listed(id: number): Item | undefined {
    const list = this.#list.lookFresh(ONLY);
    if (!list?.value) return undefined;
    // What the service said of the item itself since: also a no that is not served any more.
    if ((this.#items.lastAsked(String(id)) ?? Number.NEGATIVE_INFINITY) > list.at) return undefined;
    let byId = this.#byId.get(list.value);
    if (byId === undefined) {
      byId = new Map(list.value.map((item) => [item.id, item]));
      this.#byId.set(list.value, byId);
    }
    const item = byId.get(id);
    if (item !== undefined) this.#items.served({ value: item, at: list.at });
    return item;
  }
}

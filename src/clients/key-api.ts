import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { Cache, type CacheParts, type Positive, type RequestOptions } from '../cache/cache.js';
import { type CacheOptions, type CacheSettings, checkCacheOptions } from '../cache/options.js';
import { SharedTier } from '../cache/shared-tier.js';
import { DriftReports } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import {
  CLIENT_OPTION_NAMES,
  type ClientOptions,
  type ClientSettings,
  checkClientOptions,
  serviceUrl,
} from '../http/client-options.js';
import { HttpClient, type HttpRequest } from '../http/http-client.js';
import { type Account, accountSchema } from '../model/account.js';
import { deepFreeze, isDocumented } from '../model/fields.js';
import { type Item, itemId, itemSchema } from '../model/item.js';
import { normalizePurchaseCode, type Purchase, purchaseSchema } from '../model/purchase.js';
import { choiceOption, knownOptions, wrongOption } from '../options.js';
import { CodeAlarm } from './code-alarm.js';
import { isKeyRejected, KeyCheck } from './key-check.js';
import {
  accountDetails,
  type Endpoint,
  itemsAll,
  itemsItem,
  type Parameters,
  type ParseOptions,
  parseAnswer,
  purchasesValidation,
} from './key-endpoints.js';

/** The secret api_key, or a function that returns the current one, so that it can be rotated. */
export type ApiKeyOption = string | (() => string | Promise<string>);

const ENCODINGS = ['form', 'json', 'query'] as const;
/** How parameters are sent. The specification does not show it; deployments accept all three. */
export type ValidationEncoding = 'form' | 'json' | 'query';

/** Options of {@link KeyApi}. */
export interface KeyApiOptions extends ClientOptions {
  /** Where the key API is served: an absolute https URL, with or without a path. */
  baseUrl: string;
  /**
   * The workspace's secret api_key (specification: "Authentication"). A function, sync or async, is
   * called for every request, so that the key can be rotated without a restart.
   */
  apiKey: ApiKeyOption;
  /** How the parameters of purchases/validation are sent ("not shown"). Default `'form'`. */
  validationEncoding?: ValidationEncoding | undefined;
  /** How answers are cached. `false` turns the cache off. Default: on. */
  cache?: CacheOptions | false | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends this call when aborted; it rejects with the signal's reason. Calls that share the request go on. */
  signal?: AbortSignal | undefined;
  /** Asks the service even if the answer is cached, and caches the new answer. Default false. */
  fresh?: boolean | undefined;
  /** Called when the answer came from the shared cache. */
  onShared?: (() => void) | undefined;
}

/** The cache key of the account, and of the item list: an api_key has one of each. */
const ONLY = '';

/** Conditions of one request, from the cache or, without one, from the caller. */
type RequestConditions = Pick<CallOptions, 'signal'> &
  Partial<Pick<RequestOptions, 'isInvalidating' | 'elapsed'>>;

interface Caches {
  readonly account: Cache<Account>;
  readonly items: Cache<Item[]>;
  readonly item: Cache<Item>;
  readonly purchase: Cache<Purchase>;
}

/**
 * Client of the key API (specification: interface A).
 *
 * `null` (or `[]`) is the service's negative answer. An exception means that we could not find out:
 * `service_unavailable`, `unexpected_response`, `service_refused` or `api_key_rejected`.
 *
 * Answers are cached ({@link CacheOptions}), and frozen because callers share them. Concurrent identical
 * lookups share one request.
 */
export class KeyApi {
  /** The option `clock`; guards compare the end of support with it. */
  readonly clock: () => number;
  readonly #settings: ClientSettings;
  readonly #encoding: ValidationEncoding;
  readonly #apiKey: () => string | Promise<string>;
  readonly #http: HttpClient;
  readonly #drift: DriftReports;
  readonly #alarm: CodeAlarm;
  readonly #keyCheck: KeyCheck;
  readonly #caches: Caches | undefined;
  readonly #shared: SharedTier | undefined;
  readonly #itemsById = new WeakMap<readonly Item[], Map<number, Item>>();
  /** Ids in each list that are known to have no later negative answer in the shared cache. */
  #confirmedIds = new WeakMap<readonly Item[], Set<number>>();
  /** The latest copy of each purchased item, with its JSON. */
  readonly #purchasedItems = new LRUCache<number, { item: Item; json: string }>({ max: 1000 });

  /** @throws TypeError that names the wrong option. */
  constructor(options: KeyApiOptions) {
    const names = ['baseUrl', 'apiKey', 'validationEncoding', 'cache'] as const;
    const given = knownOptions('KeyApi', options, [...names, ...CLIENT_OPTION_NAMES]);
    const settings = checkClientOptions('KeyApi', given);
    const { clock, monotonicClock, timeout, allowInsecure } = settings;
    const { validationEncoding } = given;
    this.clock = clock;
    this.#settings = settings;
    this.#encoding = choiceOption(
      'KeyApi',
      'validationEncoding',
      validationEncoding,
      ENCODINGS,
      'form',
    );
    this.#apiKey = apiKeySource(given.apiKey);
    const url = serviceUrl('KeyApi', 'baseUrl', given.baseUrl, allowInsecure);
    const cache = checkCacheOptions('KeyApi', given.cache);
    this.#http = new HttpClient(url, settings);
    this.#drift = new DriftReports(clock);
    this.#alarm = new CodeAlarm(clock);
    this.#keyCheck = new KeyCheck(clock, (key) => this.#checkKey(key));
    if (cache === false) return;
    const { limits, secret, scope } = cache;
    this.#shared =
      cache.shared &&
      new SharedTier(cache.shared, {
        limits,
        clock: monotonicClock,
        wallClock: clock,
        timeout,
        drift: this.#drift,
        secret: () => secret ?? this.#apiKey(),
        context: `${url.origin}${url.basePath}\n${scope ?? ''}`,
        onInvalidated: (kind, key, order) => {
          const list = this.#caches?.items.last(ONLY);
          if (kind === 'item' && list !== undefined) this.#byId(list.value).delete(Number(key));
          return this.#allCaches().get(kind)?.invalidated(key, order);
        },
        onAllInvalidated: (until) => this.#clear(until),
        onMissed: () => {
          for (const each of this.#allCaches().values()) each.missed();
          this.#confirmedIds = new WeakMap();
        },
      });
    this.#caches = this.#makeCaches(limits);
  }

  /**
   * The account of the api_key (account/details).
   * @throws MarketgateError `api_key_rejected` when the service does not know the key.
   */
  async getAccount(options: CallOptions = {}): Promise<Account> {
    const account = await (this.#caches?.account.get(ONLY, options) ?? this.#account(options));
    // The negative answer of this endpoint is an exception.
    return account as Account;
  }

  /** The whole catalogue, newest first (items/all). `[]` when the service says that it has none. */
  async listItems(options: CallOptions = {}): Promise<Item[]> {
    return (await (this.#caches?.items.get(ONLY, options) ?? this.#items(options))) ?? [];
  }

  /**
   * One item (items/item, or a fresh cached list), or `null` when the service says that there is none.
   * @param id - a whole number, or its digits as in a route parameter.
   * @throws MarketgateError `item_id_invalid` for any other id, without a request.
   */
  async getItem(id: number | string, options: CallOptions = {}): Promise<Item | null> {
    const item_id = itemId(id);
    const caches = this.#caches;
    if (caches === undefined) return this.#item(String(item_id), options);
    const { fresh = false, signal } = options;
    const list = fresh ? undefined : caches.items.fresh(ONLY);
    const listed = list && (await this.#listed(item_id, list));
    if (listed !== undefined) {
      caches.item.served(listed);
      return listed.value;
    }
    try {
      const item = await caches.item.get(String(item_id), options);
      if (item === null) this.#unlist(item_id);
      return item;
    } catch (error) {
      // `listItems` still serves this list, so its items are served too.
      const staleList =
        fresh || signal?.aborted ? undefined : caches.items.staleIfError(ONLY, error);
      const stale = staleList && (await this.#listed(item_id, staleList));
      if (stale === undefined) throw error;
      caches.item.servedStale(stale);
      return stale.value;
    }
  }

  /**
   * The purchase of a code (purchases/validation), or `null` when the service says that the code is
   * invalid. Refunded purchases and codes of other authors are invalid too.
   * @param code as the customer gave it: surrounding blanks, full-width letters and invisible characters are fine.
   * @throws TypeError when the code is blank or not a string.
   */
  async validatePurchase(code: string, options: CallOptions = {}): Promise<Purchase | null> {
    const plain = plainCode(code);
    const { purchase: cache } = this.#caches ?? {};
    return cache ? cache.get(cacheKey(plain), options, plain) : this.#purchase(plain, options);
  }

  /**
   * The cached answer of {@link validatePurchase}: the purchase, `null` for an invalid code, or
   * `undefined` when the service must be asked.
   * @param code - a code without blanks or other decoration.
   */
  peekPurchase(code: string): Purchase | null | undefined {
    return this.#caches?.purchase.peek(cacheKey(code), code)?.value;
  }

  /**
   * Invalidates the cached answer for one code in any spelling, or without a code all answers: the next
   * call asks the service. With a shared cache this holds for all processes, once the promise resolves.
   * @throws MarketgateError `store_unavailable` when the shared cache cannot be reached. This process asks
   * the service all the same, and keeps trying to publish the invalidation.
   */
  async invalidate(code?: string): Promise<void> {
    if (code !== undefined) {
      await this.#caches?.purchase.invalidate(cacheKey(plainCode(code)));
      return;
    }
    this.#clear();
    await this.#shared?.invalidateAll();
  }

  /**
   * Ends connections, subscriptions and in-flight requests at once. The requests reject with
   * `service_unavailable`; later calls are refused, unless their answer is cached.
   */
  async close(): Promise<void> {
    for (const cache of this.#allCaches().values()) cache.close();
    this.#shared?.close();
    await this.#http.close();
  }

  #account(conditions: RequestConditions): Promise<Account | null> {
    return this.#request(accountDetails, {}, conditions);
  }

  #items(conditions: RequestConditions): Promise<Item[] | null> {
    return this.#request(itemsAll, {}, conditions);
  }

  #item(item_id: string, conditions: RequestConditions): Promise<Item | null> {
    return this.#request(itemsItem, { item_id }, conditions);
  }

  async #purchase(purchase_code: string, conditions: RequestConditions): Promise<Purchase | null> {
    const { path } = purchasesValidation;
    try {
      const purchase = await this.#request(purchasesValidation, { purchase_code }, conditions);
      if (purchase === null)
        this.#alarm.negative(path, purchase_code, conditions.isInvalidating ?? false);
      else this.#alarm.positive(purchase_code);
      return purchase;
    } catch (error) {
      if (isKeyRejected(error)) this.#alarm.keyRejected(path, purchase_code);
      throw error;
    }
  }

  async #checkKey(key: string): Promise<void> {
    try {
      await this.#request(accountDetails, {}, {}, key);
    } catch (error) {
      // `getAccount` must not serve the account any more. A failed publish is repeated by the cache.
      if (isKeyRejected(error)) void this.#caches?.account.invalidate(ONLY).catch(() => {});
      throw error;
    }
  }

  /**
   * One request to the service with the current api_key. A negative answer counts only once the service
   * is known to know the key.
   */
  async #request<T>(
    endpoint: Endpoint<T>,
    parameters: Parameters,
    { signal, elapsed = 0, isInvalidating }: RequestConditions,
    givenKey = this.#apiKey(),
  ): Promise<T | null> {
    const { method, path } = endpoint;
    const remaining = Math.max(1, this.#settings.timeout - elapsed);
    const deadline = this.#http.deadline(`${method} ${path}`, remaining, signal);
    try {
      const key = typeof givenKey === 'string' ? givenKey : await deadline.race(givenKey);
      const secrets = [key, parameters.purchase_code ?? ''];
      const options: ParseOptions = {
        onDrift: (drift) => this.#drift.report({ endpoint: path, ...drift }),
        freezes: this.#caches !== undefined,
        deadline,
      };
      const request: HttpRequest<T | null> = {
        method,
        path,
        ...encode({ api_key: key, ...parameters }, method === 'GET' ? 'query' : this.#encoding),
        // No endpoint changes anything, also not the POST of purchases/validation.
        repeatable: true,
        parse: (response) => parseAnswer(endpoint, parameters, response, secrets, options),
      };
      const result = this.#http.call(request, deadline);
      if (endpoint.path === accountDetails.path) await this.#keyCheck.note(key, result);
      else if ((await result) === null) {
        await deadline.race(this.#keyCheck.confirm(key, isInvalidating));
      }
      return await result;
    } finally {
      deadline.dispose();
    }
  }

  #makeCaches(limits: CacheSettings['limits']): Caches {
    const cacheOf = <T extends object>(
      what: CacheParts<T>['what'],
      schema: z.ZodType<T>,
      request: CacheParts<T>['request'],
      parts: Partial<CacheParts<T>> = {},
    ): Cache<T> =>
      new Cache<T>({
        what,
        limits,
        clock: this.#settings.monotonicClock,
        request,
        freeze: deepFreeze,
        isShape: (value) => isDocumented(schema, value),
        shared: this.#shared,
        ...parts,
      });
    return {
      account: cacheOf('account', accountSchema, (_key, conditions) => this.#account(conditions), {
        // The negative answer of this endpoint.
        isNegative: isKeyRejected,
      }),
      items: cacheOf('items', z.array(itemSchema), (_key, conditions) => this.#items(conditions)),
      item: cacheOf('item', itemSchema, (id, conditions) => this.#item(id, conditions)),
      purchase: cacheOf(
        'purchase',
        purchaseSchema,
        (code, conditions) => this.#purchase(code, conditions),
        {
          freeze: (purchase) => deepFreeze(this.#withSharedItem(purchase)),
          // A positive answer of another process, too, shows that the api_key is right.
          onShared: (code) => this.#alarm.positive(code),
        },
      ),
    };
  }

  /** Lets purchases of the same item share one copy: the item is most of a cached purchase's memory. */
  #withSharedItem(purchase: Purchase): Purchase {
    const { item } = purchase;
    const known = this.#purchasedItems.get(item.id);
    const json = jsonOf(item);
    if (json === undefined || Object.isFrozen(purchase)) return purchase;
    if (known?.json === json) purchase.item = known.item;
    else this.#purchasedItems.set(item.id, { item, json });
    return purchase;
  }

  #allCaches(): Map<string, Cache<never>> {
    return new Map(Object.entries((this.#caches ?? {}) as Record<string, Cache<never>>));
  }

  #clear(until?: number): void {
    for (const cache of this.#allCaches().values()) cache.clear(until);
  }

  #byId(list: readonly Item[]): Map<number, Item> {
    const index = this.#itemsById.get(list) ?? new Map(list.map((item) => [item.id, item]));
    this.#itemsById.set(list, index);
    return index;
  }

  /** The item in a list, unless a later request of any process was about that item itself. */
  async #listed(
    id: number,
    list: Positive<Item[]>,
  ): Promise<{ value: Item; at: number } | undefined> {
    const index = this.#byId(list.value);
    // `>=`: within the same millisecond the order is not known.
    if (this.#lastAsked(id) >= list.at || !index.has(id)) return undefined;
    const confirmed = this.#confirmedIds.get(list.value) ?? new Set();
    if (this.#shared !== undefined && !confirmed.has(id)) {
      // Asked once: later invalidations arrive as messages.
      const isGone = await this.#caches?.item.isInvalidatedSince(String(id), list.order);
      if (isGone) index.delete(id);
      else this.#confirmedIds.set(list.value, confirmed.add(id));
    }
    const value = index.get(id);
    return value && { value, at: list.at };
  }

  /** Removes an item from an earlier list after a negative answer, which the cache can evict before the list. */
  #unlist(id: number): void {
    const list = this.#caches?.items.last(ONLY);
    if (list !== undefined && this.#lastAsked(id) >= list.at) this.#byId(list.value).delete(id);
  }

  #lastAsked(id: number): number {
    return this.#caches?.item.lastAsked(String(id)) ?? Number.NEGATIVE_INFINITY;
  }
}

/** `undefined` when the value is nested too deeply for `JSON.stringify`. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** One key for all spellings of a code: a service can ignore letter case, and then they are one purchase. */
const cacheKey = (code: string): string => code.toLowerCase();

function plainCode(code: unknown): string {
  const plain = typeof code === 'string' ? normalizePurchaseCode(code) : '';
  if (plain !== '') return plain;
  throw new TypeError('KeyApi: purchase_code must be a string that is not blank');
}

/** Checks the option once; the function that it returns checks each key. */
function apiKeySource(option: unknown): () => string | Promise<string> {
  if (typeof option === 'function') {
    return async () => {
      // The error is dropped, because it can contain secrets.
      const key: unknown = await Promise.resolve()
        .then(option as () => unknown)
        .catch(() => undefined);
      if (typeof key === 'string' && key.trim() !== '') return key;
      throw new MarketgateError(
        'service_unavailable',
        'KeyApi: the function given as "apiKey" failed, or gave no non-empty string; look at where it reads the key from',
      );
    };
  }
  if (typeof option === 'string' && option.trim() !== '') return () => option;
  throw wrongOption('KeyApi', 'apiKey', 'must be a non-empty string or a function that gives one');
}

/** The query or the body that carries the parameters. */
function encode(parameters: Readonly<Record<string, string>>, encoding: ValidationEncoding) {
  if (encoding === 'json') {
    return { body: JSON.stringify(parameters), contentType: 'application/json' };
  }
  const text = new URLSearchParams(parameters).toString();
  if (encoding === 'query') return { query: text };
  return { body: text, contentType: 'application/x-www-form-urlencoded' };
}

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
  judge,
  type Parameters,
  purchasesValidation,
  type Reading,
} from './key-endpoints.js';

/** The secret api_key, or a function that gives the present one, so that it can be rotated. */
export type ApiKeyOption = string | (() => string | Promise<string>);

const ENCODINGS = ['form', 'json', 'query'] as const;
/** How parameters are sent: the specification does not show it, and deployments take all three. */
export type ValidationEncoding = 'form' | 'json' | 'query';

/** Options of {@link KeyApi}. */
export interface KeyApiOptions extends ClientOptions {
  /** Where the key API is served: an absolute https URL, with or without a path. */
  baseUrl: string;
  /**
   * The workspace's secret api_key (specification: "Authentication", interface A), or a function, sync
   * or async, that is called for every request: a key is then rotated without a restart.
   */
  apiKey: ApiKeyOption;
  /** How the parameters of purchases/validation are sent ("not shown"). Default `'form'`. */
  validationEncoding?: ValidationEncoding | undefined;
  /** How answers are cached; see {@link CacheOptions}. `false`: not at all. Default: on. */
  cache?: CacheOptions | false | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call when aborted; it then rejects with the signal's reason. Other calls go on. */
  signal?: AbortSignal | undefined;
  /** Ask the service, whatever is cached; the answer is cached for later calls. Default false. */
  fresh?: boolean | undefined;
  /** Called when the answer came from another process of the fleet: the service was not asked. */
  onShared?: (() => void) | undefined;
}

/** The one key of what there is one of. */
const ONLY = '';

interface Caches {
  readonly account: Cache<Account>;
  readonly items: Cache<Item[]>;
  readonly item: Cache<Item>;
  readonly purchase: Cache<Purchase>;
}

/**
 * Client of the key API.
 *
 * `null` (or `[]`) means that the service said no. An exception means that we could not find out:
 * `service_unavailable`, `unexpected_response`, `service_refused` or `api_key_rejected`.
 *
 * Answers are cached ({@link CacheOptions}) and frozen, because callers share them. Concurrent identical
 * lookups share one request.
 */
export class KeyApi {
  /** The clock it was given; a guard judges by it whether support has ended. */
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
  /** The items of a list of which the shared cache has no later negative answer. */
  #listedStill = new WeakMap<readonly Item[], Set<number>>();
  /** The latest copy of each item that was bought, and its JSON. */
  readonly #soldItems = new LRUCache<number, { item: Item; json: string }>({ max: 1000 });

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
          this.#listedStill = new WeakMap();
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
    // For this endpoint a negative answer is an exception.
    return account as Account;
  }

  /** The whole catalogue, newest first (items/all). `[]` when the service says that it has none. */
  async listItems(options: CallOptions = {}): Promise<Item[]> {
    return (await (this.#caches?.items.get(ONLY, options) ?? this.#items(options))) ?? [];
  }

  /**
   * One item (items/item), or `null` when the service says that there is none. A list that is fresh
   * answers too.
   * @param id - a whole number, or its digits as in a route parameter.
   * @throws MarketgateError `item_id_invalid` for anything else, without a request.
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
      // The list is still served, so what is in it must be as well.
      const old = fresh || signal?.aborted ? undefined : caches.items.staleIfError(ONLY, error);
      const last = old && (await this.#listed(item_id, old));
      if (last === undefined) throw error;
      caches.item.servedStale(last);
      return last.value;
    }
  }

  /**
   * The purchase of a code (purchases/validation), or `null` when the service says that the code is
   * invalid; that includes refunded purchases and codes of other authors.
   * @param code as the customer gave it: blanks around it, full-width letters and invisible characters do no harm.
   * @throws TypeError when it is not a string, or blank.
   */
  async validatePurchase(code: string, options: CallOptions = {}): Promise<Purchase | null> {
    const plain = plainCode(code);
    const { purchase: cache } = this.#caches ?? {};
    return cache ? cache.get(cacheKey(plain), options, plain) : this.#purchase(plain, options);
  }

  /**
   * What {@link validatePurchase} would answer without waiting: the purchase, `null` for an invalid
   * code, or `undefined` when the service must be asked. Guards look here first.
   * @param code - a code without blanks or other decoration.
   */
  peekPurchase(code: string): Purchase | null | undefined {
    return this.#caches?.purchase.peek(cacheKey(code), code)?.value;
  }

  /**
   * Forgets what is cached for one code, in any spelling, or without a code everything, so that the next
   * call asks the service. With a shared cache it settles when that knows, for all processes.
   * @throws MarketgateError `store_unavailable` when the shared cache cannot be told. This process has
   * forgotten it all the same, and goes on telling the others.
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
   * Ends connections, subscriptions and all requests in progress, which reject with
   * `service_unavailable`; waits for none of them. Later calls are refused, except for what is cached.
   */
  async close(): Promise<void> {
    for (const cache of this.#allCaches().values()) cache.close();
    this.#shared?.close();
    await this.#http.close();
  }

  #account(how: How): Promise<Account | null> {
    return this.#request(accountDetails, {}, how);
  }

  #items(how: How): Promise<Item[] | null> {
    return this.#request(itemsAll, {}, how);
  }

  #item(item_id: string, how: How): Promise<Item | null> {
    return this.#request(itemsItem, { item_id }, how);
  }

  async #purchase(purchase_code: string, how: How): Promise<Purchase | null> {
    const { path } = purchasesValidation;
    try {
      const purchase = await this.#request(purchasesValidation, { purchase_code }, how);
      if (purchase === null) this.#alarm.negative(path, purchase_code, how.isGrave ?? false);
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
      // The cached account is withdrawn here too. What cannot be sent now is sent later.
      if (isKeyRejected(error)) void this.#caches?.account.invalidate(ONLY).catch(() => {});
      throw error;
    }
  }

  /**
   * One request to the service, with the api_key of the moment. Before the first negative answer of a key
   * is believed, the key is checked.
   */
  async #request<T>(
    endpoint: Endpoint<T>,
    parameters: Parameters,
    { signal, elapsed = 0, isGrave }: How,
    givenKey = this.#apiKey(),
  ): Promise<T | null> {
    const { method, path } = endpoint;
    const left = Math.max(1, this.#settings.timeout - elapsed);
    const deadline = this.#http.deadline(`${method} ${path}`, left, signal);
    try {
      const key = typeof givenKey === 'string' ? givenKey : await deadline.race(givenKey);
      const secrets = [key, parameters.purchase_code ?? ''];
      const reading: Reading = {
        onDrift: (drift) => this.#drift.report({ endpoint: path, ...drift }),
        freezes: this.#caches !== undefined,
        deadline,
      };
      const request: HttpRequest<T | null> = {
        method,
        path,
        ...encode({ api_key: key, ...parameters }, method === 'GET' ? 'query' : this.#encoding),
        // All four only read; the POST of validation does too.
        repeatable: true,
        judge: (answer) => judge(endpoint, parameters, answer, secrets, reading),
      };
      const answer = this.#http.call(request, deadline);
      if (endpoint.path === accountDetails.path) await this.#keyCheck.note(key, answer);
      else if ((await answer) === null) await deadline.race(this.#keyCheck.confirm(key, isGrave));
      return await answer;
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
      account: cacheOf('account', accountSchema, (_key, how) => this.#account(how), {
        // The negative answer of this endpoint: it withdraws a positive one, as any other does.
        isNegative: isKeyRejected,
      }),
      items: cacheOf('items', z.array(itemSchema), (_key, how) => this.#items(how)),
      item: cacheOf('item', itemSchema, (id, how) => this.#item(id, how)),
      purchase: cacheOf('purchase', purchaseSchema, (code, how) => this.#purchase(code, how), {
        freeze: (purchase) => deepFreeze(this.#withSoldItem(purchase)),
        // Another process's positive answer says as much about the api_key as one of our own.
        onShared: (code) => this.#alarm.positive(code),
      }),
    };
  }

  /** One copy of an item, however many purchases hold it: it is most of what a cached purchase weighs. */
  #withSoldItem(purchase: Purchase): Purchase {
    const { item } = purchase;
    const known = this.#soldItems.get(item.id);
    const json = writtenAsJson(item);
    if (json === undefined || Object.isFrozen(purchase)) return purchase;
    if (known?.json === json) purchase.item = known.item;
    else this.#soldItems.set(item.id, { item, json });
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

  /** The item in a list, unless the service was asked about the item itself since, by any process. */
  async #listed(
    id: number,
    list: Positive<Item[]>,
  ): Promise<{ value: Item; at: number } | undefined> {
    const index = this.#byId(list.value);
    // In the same millisecond as well, because a negative answer must not be overruled.
    if (this.#lastAsked(id) >= list.at || !index.has(id)) return undefined;
    const still = this.#listedStill.get(list.value) ?? new Set();
    if (this.#shared !== undefined && !still.has(id)) {
      // Looked for once: what is withdrawn later comes as a message.
      const isGone = await this.#caches?.item.isInvalidatedSince(String(id), list.order);
      if (isGone) index.delete(id);
      else this.#listedStill.set(list.value, still.add(id));
    }
    const value = index.get(id);
    return value && { value, at: list.at };
  }

  /** Takes an item that is gone out of an earlier list: its own negative answer can be evicted. */
  #unlist(id: number): void {
    const list = this.#caches?.items.last(ONLY);
    if (list !== undefined && this.#lastAsked(id) >= list.at) this.#byId(list.value).delete(id);
  }

  #lastAsked(id: number): number {
    return this.#caches?.item.lastAsked(String(id)) ?? Number.NEGATIVE_INFINITY;
  }
}

/** How the service is asked: without a cache, only the signal matters. */
type How = Partial<Pick<RequestOptions, 'isGrave' | 'elapsed'>> & Pick<CallOptions, 'signal'>;

/** `undefined`: it is nested deeper than the stack is. */
function writtenAsJson(value: unknown): string | undefined {
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

/** Reads the option once, and the key with every call. */
function apiKeySource(option: unknown): () => string | Promise<string> {
  if (typeof option === 'function') {
    return async () => {
      // The function's own error is not kept: it comes from a store of secrets.
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

/** The parameters, as the part of a request that carries them. */
function encode(parameters: Readonly<Record<string, string>>, encoding: ValidationEncoding) {
  if (encoding === 'json') {
    return { body: JSON.stringify(parameters), contentType: 'application/json' };
  }
  const text = new URLSearchParams(parameters).toString();
  if (encoding === 'query') return { query: text };
  return { body: text, contentType: 'application/x-www-form-urlencoded' };
}

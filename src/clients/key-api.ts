import { hash } from 'node:crypto';
import { Attempt, type Attempts, attemptsOption } from '../attempts/attempts.js';
import type { Answer, Kept } from '../cache/answers.js';
import {
  Cache,
  type CacheParts,
  type CallOptions,
  type VisitorCallOptions,
} from '../cache/cache.js';
import type { RequestOptions } from '../cache/lookup.js';
import { type CacheLimits, type CacheOptions, cacheOption } from '../cache/options.js';
import { ALL, Orders } from '../cache/orders.js';
import { SharedTier } from '../cache/shared-tier.js';
import { type Deadline, withTimeout } from '../deadline.js';
import { reportDrift } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import {
  CLIENT_OPTIONS,
  type ClientOptions,
  clientSettings,
  serviceUrl,
} from '../http/client-options.js';
import { type HttpCallOptions, HttpClient, type HttpRequest } from '../http/http-client.js';
import type { JsonResponse } from '../http/response.js';
import { encode, nameOf } from '../http/transport.js';
import { latest } from '../latest.js';
import type { Account } from '../model/account.js';
import { deepFreeze, isEqualJson, type OnDrift } from '../model/fields.js';
import { type Item, type ItemList, itemId } from '../model/item.js';
import type { Purchase } from '../model/purchase.js';
import { readPurchaseCode, requireText } from '../model/purchase-code.js';
import {
  checkedFor,
  choice,
  idText,
  ifUnset,
  optional,
  pattern,
  readOptions,
  refuseStray,
  strayCharacters,
  type Table,
  wrongOption,
} from '../options.js';
import { isKeyRejected, KeyCheck } from './key-check.js';
import {
  accountDetails,
  blamesKey,
  type Endpoint,
  itemsAll,
  itemsItem,
  NO_PARAMETER,
  parseKeyAnswer,
  purchasesValidation,
} from './key-endpoints.js';

/** The secret api_key, or a function that returns the current one, so that it can be rotated. */
export type ApiKeyOption = string | (() => string | Promise<string>);

/** A code, in an error. */
const PARAMETER = 'KeyApi: purchase_code';
/** How many items have one object for all purchases of them. */
const MAX_SHARED_ITEMS = 1000;

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
  /**
   * The format of the service's purchase codes, as in `/^MK-\d{8}$/`. A code that does not match is invalid, and the service
   * is not asked. Default: 4 to 128 visible ASCII characters, which a code must have in any case.
   */
  codePattern?: RegExp | undefined;
  /** How answers are cached. `false` turns the cache off. Default: on. */
  cache?: CacheOptions | false | undefined;
}

const OPTIONS = {
  baseUrl: serviceUrl,
  apiKey: apiKeySource,
  validationEncoding: choice<ValidationEncoding>('form', 'json', 'query'),
  codePattern: optional(pattern),
  cache: cacheOption,
  ...CLIENT_OPTIONS,
} satisfies Table<KeyApiOptions>;

/** What {@link KeyApi} asks the service with: for a lookup of its cache, or for a call without a cache. */
interface AskOptions
  extends HttpCallOptions,
    Partial<Pick<RequestOptions, 'hadPositive' | 'isRefresh' | 'onSend'>>,
    Pick<VisitorCallOptions, 'client'> {}

/** The cache of each endpoint, under the endpoint's `what`, by which invalidations name it. */
interface Caches {
  readonly account: Cache<Account>;
  readonly items: Cache<ItemList>;
  readonly item: Cache<Item>;
  readonly purchase: Cache<Purchase>;
}

/**
 * Client of the key API.
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
  readonly #codePattern: RegExp | undefined;
  readonly #encoding: ValidationEncoding;
  readonly #apiKey: () => string | Promise<string>;
  readonly #http: HttpClient;
  readonly #keyCheck: KeyCheck;
  readonly #sharedTier: SharedTier | undefined;
  readonly #caches: Caches | undefined;
  readonly #orders = new Orders();
  readonly #attempts: Attempts | undefined;
  /** The address of the service. */
  readonly #service: string;
  /** Milliseconds of one call. */
  readonly #timeout: number;
  /** The item of the purchase that was cached last, by id. */
  readonly #sold = latest<number, Item>(MAX_SHARED_ITEMS);
  /** The items of the list that was last looked into, by id. */
  #index: { readonly list: ItemList; readonly byId: ReadonlyMap<number, Item> } | undefined;

  /**
   * Makes a client of the key API: one for an app, because it has the cache.
   *
   * @throws TypeError that names the wrong option.
   *
   * @example
   * const keyApi = new KeyApi({ baseUrl: 'https://market.example', apiKey });
   * const purchase = await keyApi.validatePurchase(code); // null: the service says that the code is invalid
   */
  constructor(options: KeyApiOptions) {
    const me = 'KeyApi';
    const { given, settings } = checkedFor(new.target, () => {
      const { baseUrl, ...given } = readOptions(me, OPTIONS, options);
      return { given, settings: clientSettings(me, 'baseUrl', baseUrl, given) };
    });
    const { cache } = given;
    this.clock = settings.clock;
    this.#encoding = given.validationEncoding;
    this.#codePattern = given.codePattern;
    this.#apiKey = given.apiKey;
    this.#attempts = attemptsOption(me, given.guessLimit, settings.timer);
    this.#timeout = settings.timeout;
    this.#service = `${settings.url.origin}${settings.url.basePath}`;
    const account = (apiKey: string) => this.#request(accountDetails, NO_PARAMETER, apiKey);
    this.#http = new HttpClient(settings, async () => account(await this.#apiKey()));
    this.#keyCheck = new KeyCheck(settings.timer, (apiKey) => this.#http.call(account(apiKey), {}));
    if (cache === false) return;
    const { limits, shared, secret, scope } = cache;
    const { timeout, timer } = settings;
    this.#sharedTier =
      shared &&
      new SharedTier(shared, {
        limits,
        timeout,
        secret: () => secret ?? this.#apiKey(),
        context: `${this.#service}\n${scope ?? ''}`,
        orders: this.#orders,
      });
    this.#caches = this.#makeCaches(limits, timer);
  }

  /**
   * The account of the api_key (account/details).
   * @throws MarketgateError `api_key_rejected` when the service does not know the key.
   */
  async getAccount(options: CallOptions = {}): Promise<Account> {
    // The negative answer of this endpoint is an exception.
    return (await this.#get(accountDetails, NO_PARAMETER, options)) as Account;
  }

  /** The whole catalogue, newest first (items/all). `[]` when the service says that it has none. */
  async listItems(options: CallOptions = {}): Promise<readonly Item[]> {
    return (await this.#get(itemsAll, NO_PARAMETER, options))?.items ?? [];
  }

  /**
   * One item, or `null` when the service says that there is none. The whole list answers (items/all), and is asked for
   * where it is not cached: within its `ttl`, an item that is not in it is `null`. Only where the list is not to be had, is
   * empty or has items that cannot be read, the item is asked for by itself (items/item).
   * @param id - a whole number, or its digits as in a route parameter.
   * @throws MarketgateError `item_id_invalid` for any other id, without a request; `too_many_attempts`.
   */
  async getItem(id: number | string, options: VisitorCallOptions = {}): Promise<Item | null> {
    const number = itemId(id);
    checkClient(options);
    const key = String(number);
    if (!this.#caches) return this.#ask(itemsItem, key, options);
    const { items, item } = this.#caches;
    const listed = options.fresh ? undefined : this.#listed(number);
    if (listed !== undefined) return item.served(listed).value;
    try {
      return await item.get(key, options);
    } catch (error) {
      // `listItems` still serves this list, so its items are served too.
      const stale = options.fresh
        ? undefined
        : items.staleIfError(NO_PARAMETER, error, options.signal);
      const last = stale && this.#inList(number, stale);
      if (!stale || !last) throw error;
      return item.served({ value: last, at: stale.at }, true).value;
    }
  }

  /**
   * The purchase of a code (purchases/validation), or `null` when the service says that the code is
   * invalid. Refunded purchases and codes of other authors are invalid too. A text that cannot be a code
   * ({@link KeyApiOptions.codePattern}) is invalid without a request.
   * @param code as the customer gave it: blanks, line breaks, invisible characters, full-width letters and the dashes of word
   * processors are fine.
   * @throws TypeError when the code is blank or not a string. MarketgateError `too_many_attempts`, where `client` has asked
   * about too many wrong codes.
   */
  async validatePurchase(code: string, options: VisitorCallOptions = {}): Promise<Purchase | null> {
    requireText(PARAMETER, code);
    checkClient(options);
    const text = readPurchaseCode(code)?.text;
    // Unlike `test`, `search` always begins at the start, also with the flags g and y.
    const isOfPattern = text?.search(this.#codePattern ?? '') !== -1;
    return text !== undefined && isOfPattern ? this.#get(purchasesValidation, text, options) : null;
  }

  /**
   * Invalidates the cached answer for one code in any spelling, or without a code all answers: the next
   * call asks the service. With a shared cache this holds for all processes, once the promise resolves.
   * @throws MarketgateError `store_unavailable` when the shared cache cannot store and publish it. This process asks
   * the service all the same, and keeps trying to tell the others until it is closed.
   */
  async invalidate(code?: string): Promise<void> {
    const subject = code === undefined ? ALL : this.#subjectOf(code);
    if (subject === undefined) return;
    if (this.#sharedTier) await this.#sharedTier.invalidate(subject);
    else this.#orders.invalidate(subject);
  }

  /**
   * Whether the service is down: account/details, asked now, once for all callers, cannot be reached, times out or fails.
   * False while the service asks to be left alone, and for what this process lacks. After a call that has failed, it tells
   * an outage from a failure that only concerns what was asked. Each call can cost a request: not for a route that any visitor
   * can open. Never rejects.
   */
  isDown(): Promise<boolean> {
    return this.#http.isDown();
  }

  /**
   * Ends connections, subscriptions and in-flight requests at once. The requests reject with
   * `service_unavailable`; later calls are refused, unless their answer is cached.
   */
  async close(): Promise<void> {
    this.#sharedTier?.close();
    await this.#http.close();
  }

  /** `undefined`: nothing can be cached about that. */
  #subjectOf(code: unknown): string | undefined {
    requireText(PARAMETER, code);
    const read = readPurchaseCode(code);
    return read && this.#caches?.purchase.subject(read.text);
  }

  #get<T extends object>(endpoint: Endpoint<T>, value: string, options: VisitorCallOptions) {
    const cache = this.#caches?.[endpoint.what] as Cache<T> | undefined;
    return cache ? cache.get(value, options) : this.#ask(endpoint, value, options);
  }

  /**
   * Asks the service with the current api_key, and counts that for the client.
   * @param value of the endpoint's parameter.
   */
  async #ask<T>(endpoint: Endpoint<T>, value: string, options: AskOptions): Promise<T | null> {
    const { what } = endpoint;
    // What renews an answer is caused by whoever comes first. Only items can cost one request each.
    const client = options.isRefresh && what !== 'item' ? undefined : options.client;
    const counted = idText('KeyApi', 'client', client);
    let apiKey = '';
    const scope = (): string => this.#scopeOf(apiKey);
    const attempt = new Attempt(this.#attempts, counted, scope, options);
    try {
      const answer = await this.#http.within(nameOf(endpoint), options, async (deadline) => {
        const current = this.#apiKey();
        apiKey = typeof current === 'string' ? current : await deadline.race(current);
        return this.#answer(endpoint, value, apiKey, { deadline, attempt, ...options });
      });
      // An item that had to be asked for by itself stays counted.
      if (answer === null || what === 'item') attempt.end(true);
      else attempt.endWithAnswer(`${what} ${value.toLowerCase()}`);
      return answer;
    } catch (error) {
      void attempt.endWithError(error, options.signal?.aborted, () => this.#http.isUp());
      throw error;
    }
  }

  /**
   * The answer of the service. A negative one counts only once the service is known to know the key. One that blames the
   * key is `api_key_rejected` once account/details rejects it too.
   */
  async #answer<T>(
    endpoint: Endpoint<T>,
    value: string,
    apiKey: string,
    { deadline, attempt, hadPositive }: AskOptions & { deadline: Deadline; attempt: Attempt },
  ): Promise<T | null> {
    let isBlamed = false;
    const request = this.#request(endpoint, value, apiKey);
    const parse = (response: JsonResponse): T | null => {
      isBlamed = blamesKey(response);
      return request.parse(response);
    };
    const confirm = () =>
      deadline.race(this.#keyCheck.confirm(apiKey, isBlamed || hadPositive === true));
    let answer: T | null;
    try {
      answer = await this.#http.send({ ...request, parse }, deadline, attempt);
    } catch (error) {
      if (isBlamed) {
        await confirm().catch((doubt: unknown) => {
          if (isKeyRejected(doubt) || deadline.aborted) throw doubt;
        });
      }
      throw error;
    }
    if (answer === null) {
      attempt.isRefused = true;
      await confirm().catch((error: unknown) => {
        if (isKeyRejected(error) || !isMarketgateError(error)) throw error;
        // The service has answered, so `onUnknown: 'allow'` must not let that code in.
        const problem = `the service said no, but it is not known whether it knows the api_key: ${nameOf(accountDetails)} failed`;
        const { retryAfter } = error;
        throw new MarketgateError('unexpected_response', `${nameOf(endpoint)}: ${problem}`, {
          cause: error,
          retryAfter,
        });
      });
    }
    return answer;
  }

  /** Names the service and the account, for the guess limit. */
  #scopeOf(apiKey: string): string {
    return `${this.#service} ${hash('sha256', apiKey, 'base64url').slice(0, 12)}`;
  }

  /**
   * Asks for an item: for the whole list, so that pages of items cost one request for all, and for the item by itself only
   * if the list does not say.
   */
  async #askForItem(key: string, options: RequestOptions): Promise<Item | null> {
    const begunAt = performance.now();
    const ask = async () => this.#caches?.items.upToDate(NO_PARAMETER, options.signal);
    // A list that hangs leaves time to ask for the item.
    const list = options.isFresh
      ? undefined
      : await withTimeout(this.#timeout / 2, ask).catch(() => undefined);
    const listed = list && this.#inList(Number(key), list);
    if (listed !== undefined) return listed;
    const elapsed = options.elapsed + performance.now() - begunAt;
    return this.#ask(itemsItem, key, { ...options, elapsed });
  }

  #request<T>(endpoint: Endpoint<T>, value: string, apiKey: string): HttpRequest<T | null> {
    const { what, method, path, parameter } = endpoint;
    const secrets = parameter === 'purchase_code' ? [apiKey, value] : [apiKey];
    const parameters = parameter ? { api_key: apiKey, [parameter]: value } : { api_key: apiKey };
    const onDrift: OnDrift = (drift) => reportDrift(this, { endpoint: path, ...drift });
    return {
      method,
      path,
      parameters: encode(parameters, method === 'GET' ? 'query' : this.#encoding),
      // No endpoint changes anything, also not the POST of purchases/validation.
      isRepeatable: true,
      // No visitor has a say in it.
      isNeutral: what === 'account',
      parse: (response) => {
        try {
          const answer = parseKeyAnswer(endpoint, value, response, secrets, onDrift);
          if (what === 'account') this.#keyCheck.note(apiKey);
          return answer;
        } catch (error) {
          if (!isKeyRejected(error)) throw error;
          this.#keyCheck.note(apiKey, error);
          // `getAccount` must not serve the account any more.
          const subject = this.#caches?.account.subject(NO_PARAMETER);
          if (subject) this.#orders.invalidate(subject);
          throw error;
        }
      },
    };
  }

  #makeCaches(limits: CacheLimits, clock: () => number): Caches {
    const cacheOf = <T extends object>(
      endpoint: Endpoint<T>,
      parts: Partial<CacheParts<T>> = {},
    ): Cache<T> =>
      new Cache<T>({
        what: endpoint.what,
        limits,
        clock,
        ask: (value, options) => this.#ask(endpoint, value, options),
        freeze: deepFreeze,
        check: () => this.#http.check(nameOf(endpoint)),
        orders: this.#orders,
        sharedTier: this.#sharedTier,
        ...parts,
      });
    return {
      account: cacheOf(accountDetails, { isUncounted: true }),
      items: cacheOf(itemsAll, { isUncounted: true }),
      item: cacheOf(itemsItem, { ask: (key, options) => this.#askForItem(key, options) }),
      purchase: cacheOf(purchasesValidation, {
        freeze: (purchase) => this.#freezePurchase(purchase),
        checkClient: (client) => {
          const counted = idText('KeyApi', 'client', client);
          const refusal = counted === undefined ? undefined : this.#attempts?.refusalOf(counted);
          if (refusal) throw refusal;
        },
      }),
    };
  }

  /** Purchases of equal items share the item, because its description can be long. */
  #freezePurchase(purchase: Purchase): Purchase {
    const { item } = purchase;
    const sold = this.#sold.get(item.id);
    if (sold !== undefined && isEqualJson(sold, item)) purchase.item = sold;
    else this.#sold.set(item.id, item);
    return deepFreeze(purchase);
  }

  /** An item by the list; `undefined`: that does not say. A list past its `ttl` says only what it has. */
  #listed(id: number): Answer<Item> | undefined {
    const items = this.#caches?.items;
    const list = items?.current(NO_PARAMETER);
    if (!items || !list || list.value === null) return undefined;
    const value = this.#inList(id, list as Kept<ItemList>);
    const isKnown = value !== undefined && (value !== null || !items.isStale(list));
    return isKnown ? { value, at: list.at } : undefined;
  }

  /**
   * An item by a list; `null`: it has none of that id. `undefined`: the list does not say, because it is empty or has
   * items that could not be read, or because the item itself was asked for later.
   */
  #inList(id: number, { value: list, order }: Kept<ItemList>): Item | null | undefined {
    if (this.#caches?.item.isAskedSince(String(id), order)) return undefined;
    if (this.#index?.list !== list) {
      this.#index = { list, byId: new Map(list.items.map((item) => [item.id, item])) };
    }
    const item = this.#index.byId.get(id);
    return item ?? (list.isWhole && list.items.length > 0 ? null : undefined);
  }
}

/** @throws TypeError for a `client` that is no id, also where the cache answers. */
const checkClient = ({ client }: VisitorCallOptions): void =>
  void idText('KeyApi', 'client', client);

/** Checks the option once; the function that it returns checks each key. */
function apiKeySource(
  owner: string,
  name: string,
  option: unknown,
): () => string | Promise<string> {
  if (typeof option === 'function') {
    return async () => {
      // The error is dropped, because it can contain secrets.
      const key: unknown = await Promise.resolve()
        .then(option as () => unknown)
        .catch(() => undefined);
      const isText = typeof key === 'string' && key.trim() !== '';
      const problem = isText ? strayCharacters(key) : 'failed, or gave no non-empty string';
      if (isText && problem === undefined) return key;
      throw new MarketgateError(
        'service_unavailable',
        `KeyApi: the function given as "apiKey" ${isText ? `gave a key that ${problem}` : problem}; look at where it reads the key from`,
      );
    };
  }
  if (typeof option === 'string' && option.trim() !== '') {
    refuseStray(owner, name, option);
    return () => option;
  }
  const expected = 'must be a non-empty string or a function that gives one';
  throw wrongOption(owner, name, expected + ifUnset(option));
}

import { hash } from 'node:crypto';
import {
  type Answer,
  Cache,
  type CallOptions,
  type RequestOptions,
  type VisitorCallOptions,
} from '../cache/cache.js';
import { type CacheLimits, type CacheOptions, cacheOption } from '../cache/options.js';
import { ALL, SharedTier } from '../cache/shared-tier.js';
import { type Deadline, NoAnswer, withTimeout } from '../deadline.js';
import { reportDrift, warnOnce } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { Guesses } from '../guess/guesses.js';
import { Failure, unavailable } from '../http/failure.js';
import { type HttpCallOptions, HttpClient, type HttpRequest } from '../http/http-client.js';
import { clientSettings, serviceUrl } from '../http/settings.js';
import { encode, nameOf } from '../http/transport.js';
import { lru } from '../lru.js';
import type { Account } from '../model/account.js';
import { deepFreeze, isEqualJson, type OnDrift } from '../model/fields.js';
import { type Item, type ItemList, itemId } from '../model/item.js';
import type { Purchase } from '../model/purchase.js';
import { readPurchaseCode, requireText } from '../model/purchase-code.js';
import {
  checkedFor,
  choice,
  flag,
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
import { CLIENT_OPTIONS, type ClientOptions } from './client-options.js';
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
/** Milliseconds for which `getItem` does without a list that could not be had. */
const LIST_PAUSE = 60_000;

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
    Partial<Pick<RequestOptions, 'hadPositive'>>,
    Pick<VisitorCallOptions, 'client'> {}

/** The cache of each endpoint, under the endpoint's `what`. */
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
  readonly #guesses: Guesses;
  /** The address of the service. */
  readonly #service: string;
  /** Milliseconds of one call. */
  readonly #timeout: number;
  /** Milliseconds, for durations. */
  readonly #timer: () => number;
  /** The item of the purchase that was cached last, by id. */
  readonly #sold = lru<number, Item>(MAX_SHARED_ITEMS);
  /** The items of the list that was last looked into, by id. */
  #index: { readonly list: ItemList; readonly byId: ReadonlyMap<number, Item> } | undefined;
  /** Until when `getItem` does without the list. */
  #noListUntil = Number.NEGATIVE_INFINITY;
  #isClosed = false;

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
    this.#guesses = new Guesses(me, given.guessLimit, settings.timer);
    this.#timeout = settings.timeout;
    this.#timer = settings.timer;
    this.#service = `${settings.url.origin}${settings.url.basePath}`;
    const account = (apiKey: string) => this.#request(accountDetails, NO_PARAMETER, apiKey);
    this.#http = new HttpClient(settings, async () => account(await this.#apiKey()));
    this.#keyCheck = new KeyCheck(settings.timer, (apiKey) =>
      this.#http.within(nameOf(accountDetails), {}, (deadline) =>
        this.#http.send(account(apiKey), deadline),
      ),
    );
    if (cache === false) return;
    const { limits, shared } = cache;
    const { staleIfError } = limits;
    const apiKey = this.#apiKey;
    const { clock, timeout, timer } = settings;
    this.#sharedTier =
      shared &&
      new SharedTier(shared, { timeout, staleIfError, clock, apiKey, service: this.#service });
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
   * One item, or `null` when the service says that there is none. The whole list answers (items/all) and is asked for where
   * it is not fresh: pages of items cost one request for all. Only where the list cannot be had, is empty or has items that
   * cannot be read, the item is asked for by itself (items/item). That the list cannot be had is a warning, and for a minute
   * it is not asked for again.
   * @param id - a whole number, or its digits as in a route parameter.
   * @throws MarketgateError `item_id_invalid` for any other id, without a request; `too_many_attempts`.
   */
  async getItem(id: number | string, options: VisitorCallOptions = {}): Promise<Item | null> {
    const number = itemId(id);
    // Also where the cache answers.
    idText('KeyApi', 'client', options.client);
    const key = String(number);
    this.#checkOpen();
    if (!this.#caches) return this.#ask(itemsItem, key, options);
    const { item, items } = this.#caches;
    const isFresh = flag('KeyApi', 'fresh', options.fresh);
    const begunAt = performance.now();
    const list = isFresh ? undefined : await this.#freshList(items, options.signal);
    const listed = list && this.#inList(number, list);
    if (listed !== undefined) return item.served('cache', listed);
    try {
      return (await item.get(key, options, true, performance.now() - begunAt)).value;
    } catch (error) {
      // `listItems` still serves this list, so its items are served too.
      const isUseful = !isFresh && !options.signal?.aborted;
      const stale = isUseful ? items.staleIfError(NO_PARAMETER, error) : undefined;
      const last = stale && this.#inList(number, stale);
      if (!last) throw error;
      return item.served('stale-if-error', last);
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
    // Also where the cache answers.
    idText('KeyApi', 'client', options.client);
    const text = readPurchaseCode(code)?.text;
    // Unlike `test`, `search` always begins at the start, also with the flags g and y.
    const isOfPattern = text?.search(this.#codePattern ?? '') !== -1;
    return text !== undefined && isOfPattern ? this.#get(purchasesValidation, text, options) : null;
  }

  /**
   * Forgets the cached answer for one code in any spelling, or without a code all answers: the next
   * call asks the service. With a shared cache, the other processes forget it as soon as they get the message.
   * @throws TypeError when a code is given that is blank or not a string. MarketgateError `store_unavailable` when the shared
   * cache could not be told: this process has forgotten, the others have not. Call it again. `service_unavailable` after
   * {@link close}.
   */
  async invalidate(...given: [] | [code: string]): Promise<void> {
    const [code] = given;
    // A code that got lost must not forget everything.
    if (given.length > 0) requireText(PARAMETER, code);
    this.#checkOpen();
    if (this.#caches === undefined) return;
    let subject = ALL;
    if (code === undefined) {
      for (const cache of Object.values(this.#caches)) cache.invalidateAll();
    } else {
      const text = readPurchaseCode(code)?.text;
      // Nothing is cached about what cannot be a code.
      if (text === undefined) return;
      const { purchase } = this.#caches;
      subject = purchase.subjectOf(text);
      purchase.invalidate(text);
    }
    if (!this.#sharedTier || (await this.#sharedTier.withdraw(subject))) return;
    throw new MarketgateError(
      'store_unavailable',
      'KeyApi.invalidate: the shared cache could not be told; this process has forgotten, the others have not: call it again',
    );
  }

  /**
   * Ends connections, subscriptions and in-flight requests at once. The requests reject with
   * `service_unavailable`, and so do later calls.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#sharedTier?.close();
    await this.#http.close();
  }

  async #get<T extends object>(
    endpoint: Endpoint<T>,
    value: string,
    options: VisitorCallOptions,
  ): Promise<T | null> {
    this.#checkOpen();
    const cache = this.#caches?.[endpoint.what] as Cache<T> | undefined;
    return cache ? (await cache.get(value, options)).value : this.#ask(endpoint, value, options);
  }

  #checkOpen(): void {
    if (!this.#isClosed) return;
    throw unavailable('KeyApi: this client was closed', new Failure('CLOSED'));
  }

  /**
   * Asks the service with the current api_key, and counts that for the client.
   * @param value of the endpoint's parameter.
   */
  #ask<T>(endpoint: Endpoint<T>, value: string, options: AskOptions): Promise<T | null> {
    const { client, hadPositive = false } = options;
    return this.#http.within(nameOf(endpoint), options, async (deadline) => {
      const current = this.#apiKey();
      const apiKey = typeof current === 'string' ? current : await deadline.race(current);
      const question = { client, scope: () => this.#scopeOf(apiKey), deadline };
      return this.#guesses.count(question, () =>
        this.#answer(endpoint, value, apiKey, deadline, hadPositive),
      );
    });
  }

  /**
   * The answer of the service. A negative one counts only once the service is known to know the key; and one in other words can
   * be about the key.
   * @param hadPositive whether a negative answer erases a positive one: then the key is checked anew.
   */
  async #answer<T>(
    endpoint: Endpoint<T>,
    value: string,
    apiKey: string,
    deadline: Deadline,
    hadPositive: boolean,
  ): Promise<T | null> {
    const confirmKey = (isDoubted: boolean) =>
      deadline.race(this.#keyCheck.confirm(apiKey, isDoubted));
    let isBlamed = false;
    try {
      const said = await this.#http.send(this.#request(endpoint, value, apiKey), deadline);
      if (said.answer !== null) return said.answer;
      isBlamed = said.isBlamed;
    } catch (error) {
      const isRefused = isMarketgateError(error) && error.code === 'service_refused';
      if (!isRefused || endpoint.what === 'account') throw error;
      await confirmKey(true).catch((doubt: unknown) => {
        if (isKeyRejected(doubt) || deadline.aborted) throw doubt;
      });
      throw error;
    }
    await confirmKey(isBlamed || hadPositive).catch((error: unknown) => {
      if (isKeyRejected(error) || !isMarketgateError(error)) throw error;
      // The service has answered, so `onUnknown: 'allow'` must not let that code in.
      const problem = `the service said no, but it is not known whether it knows the api_key: ${nameOf(accountDetails)} failed`;
      const { retryAfter } = error;
      throw new MarketgateError('unexpected_response', `${nameOf(endpoint)}: ${problem}`, {
        cause: error,
        retryAfter,
      });
    });
    return null;
  }

  /** Names the service and the account, for the guess limit. */
  #scopeOf(apiKey: string): string {
    return `${this.#service} ${hash('sha256', apiKey, 'base64url').slice(0, 12)}`;
  }

  #request<T>(
    endpoint: Endpoint<T>,
    value: string,
    apiKey: string,
  ): HttpRequest<{ readonly answer: T | null; readonly isBlamed: boolean }> {
    const { what, method, path, parameter } = endpoint;
    const secrets = parameter === 'purchase_code' ? [apiKey, value] : [apiKey];
    const parameters = parameter ? { api_key: apiKey, [parameter]: value } : { api_key: apiKey };
    const onDrift: OnDrift = (drift) => reportDrift(this, { endpoint: path, ...drift });
    return {
      method,
      path,
      parameters: encode(parameters, method === 'GET' ? 'query' : this.#encoding),
      secrets,
      // No endpoint changes anything, also not the POST of purchases/validation.
      isRepeatable: true,
      isProbe: what === 'account',
      parse: (response) => {
        try {
          const answer = parseKeyAnswer(endpoint, value, response, secrets, onDrift);
          if (what === 'account') this.#keyCheck.note(apiKey);
          return { answer, isBlamed: answer === null && blamesKey(response) };
        } catch (error) {
          if (!isKeyRejected(error)) throw error;
          this.#keyCheck.note(apiKey, error);
          // `getAccount` must not serve the account any more.
          this.#caches?.account.invalidate(NO_PARAMETER);
          throw error;
        }
      },
    };
  }

  #makeCaches(limits: CacheLimits, clock: () => number): Caches {
    const cacheOf = <T extends object>(
      endpoint: Endpoint<T>,
      freeze: (value: T) => T = deepFreeze,
    ): Cache<T> =>
      new Cache<T>({
        what: endpoint.what,
        limits,
        clock,
        request: (value, options) => this.#ask(endpoint, value, options),
        freeze,
        refusal: (client) => this.#http.refusal(nameOf(endpoint)) ?? this.#guesses.refusal(client),
        shared: this.#sharedTier,
      });
    return {
      account: cacheOf(accountDetails),
      items: cacheOf(itemsAll),
      item: cacheOf(itemsItem),
      purchase: cacheOf(purchasesValidation, (purchase) => this.#freezePurchase(purchase)),
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

  /** The list, not past its `ttl`; `undefined`: it cannot be had. */
  async #freshList(
    items: Cache<ItemList>,
    signal: AbortSignal | undefined,
  ): Promise<Answer<ItemList> | undefined> {
    const list = items.fresh(NO_PARAMETER);
    if (list || this.#timer() < this.#noListUntil) return list;
    try {
      const ask = () => items.get(NO_PARAMETER, { signal }, false);
      // A list that hangs leaves time to ask for the item.
      return await withTimeout(this.#timeout / 2, ask);
    } catch (error) {
      if (signal?.aborted || this.#isClosed) throw error;
      this.#noListUntil = this.#timer() + LIST_PAUSE;
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
    const isOutdated =
      (this.#caches?.item.knownSince(String(id)) ?? Number.NEGATIVE_INFINITY) >= at;
    if (list === null || isOutdated) return undefined;
    if (this.#index?.list !== list) {
      this.#index = { list, byId: new Map(list.items.map((item) => [item.id, item])) };
    }
    const item = this.#index.byId.get(id);
    return item ?? (list.isWhole && list.items.length > 0 ? null : undefined);
  }
}

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
      throw unavailable(
        `KeyApi: the function given as "apiKey" ${isText ? `gave a key that ${problem}` : problem}; look at where it reads the key from`,
        new Failure('NO_API_KEY'),
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

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
import type { Deadline } from '../deadline.js';
import { reportDrift } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { Guesses } from '../guess/guesses.js';
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
  idText,
  optional,
  pattern,
  readOptions,
  type Table,
  type Values,
} from '../options.js';
import { type ApiKeyOption, apiKeySource } from './api-key.js';
import { Catalogue } from './catalogue.js';
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
    Partial<Pick<RequestOptions, 'hadPositive'>>,
    Pick<VisitorCallOptions, 'client'> {}

type Found<T> = Pick<Answer<T>, 'value'>;

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
  readonly #options: Omit<Values<typeof OPTIONS>, 'baseUrl'>;
  readonly #http: HttpClient;
  readonly #keyCheck: KeyCheck;
  readonly #guesses: Guesses;
  /** The address of the service. */
  readonly #service: string;
  readonly #sharedTier: SharedTier | undefined;
  readonly #caches: Caches | undefined;
  readonly #catalogue: Catalogue | undefined;
  /** The item of the purchase that was cached last, by id. */
  readonly #sold = lru<number, Item>(MAX_SHARED_ITEMS);

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
    const { apiKey, cache, guessLimit } = given;
    const { clock, timeout, timer, url } = settings;
    this.clock = clock;
    this.#options = given;
    this.#guesses = new Guesses(me, guessLimit, timer);
    this.#service = `${url.origin}${url.basePath}`;
    const account = (key: string) => this.#request(accountDetails, NO_PARAMETER, key);
    this.#http = new HttpClient(settings, async () => account(await apiKey()));
    this.#keyCheck = new KeyCheck(timer, (key) =>
      this.#http.within(nameOf(accountDetails), {}, (deadline) =>
        this.#http.send(account(key), deadline),
      ),
    );
    if (cache === false) return;
    const { limits, shared } = cache;
    const { staleIfError } = limits;
    this.#sharedTier =
      shared &&
      new SharedTier(shared, { timeout, staleIfError, clock, apiKey, service: this.#service });
    this.#caches = this.#makeCaches(limits, timer);
    this.#catalogue = new Catalogue(this.#caches, timeout, timer);
  }

  /**
   * The account of the api_key (account/details).
   * @throws MarketgateError `api_key_rejected` when the service does not know the key.
   */
  async getAccount(options: CallOptions = {}): Promise<Account> {
    // The negative answer of this endpoint is an exception.
    return (await this.#get(accountDetails, NO_PARAMETER, options)).value as Account;
  }

  /** The whole catalogue, newest first (items/all). `[]` when the service says that it has none. */
  async listItems(options: CallOptions = {}): Promise<readonly Item[]> {
    return (await this.#get(itemsAll, NO_PARAMETER, options)).value?.items ?? [];
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
    this.#http.throwIfClosed();
    return this.#catalogue
      ? this.#catalogue.find(number, options)
      : this.#ask(itemsItem, String(number), options);
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
    const { codePattern } = this.#options;
    // Unlike `test`, `search` always begins at the start, also with the flags g and y.
    if (text === undefined || (codePattern && text.search(codePattern) < 0)) return null;
    return (await this.#get(purchasesValidation, text, options)).value;
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
    this.#http.throwIfClosed();
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
    this.#sharedTier?.close();
    await this.#http.close();
  }

  /** The answer of the cache, or of the service where there is no cache. */
  #get<T extends object>(
    endpoint: Endpoint<T>,
    value: string,
    options: VisitorCallOptions,
  ): Found<T> | Promise<Found<T>> {
    this.#http.throwIfClosed();
    const cache = this.#caches?.[endpoint.what] as Cache<T> | undefined;
    if (cache !== undefined) return cache.get(value, options);
    return this.#ask(endpoint, value, options).then((answer) => ({ value: answer }));
  }

  /**
   * Asks the service with the current api_key, and counts that for the client.
   * @param value of the endpoint's parameter.
   */
  #ask<T>(endpoint: Endpoint<T>, value: string, options: AskOptions): Promise<T | null> {
    const { client, hadPositive = false } = options;
    return this.#http.within(nameOf(endpoint), options, async (deadline) => {
      const current = this.#options.apiKey();
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
      parameters: encode(parameters, method === 'GET' ? 'query' : this.#options.validationEncoding),
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
}

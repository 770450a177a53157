import { type CacheOptions, checkCacheOptions } from '../cache/options.js';
import {
  CLIENT_OPTION_NAMES,
  type ClientOptions,
  checkClientOptions,
  serviceUrl,
} from '../http/client-options.js';
import type { Account } from '../model/account.js';
import type { Item } from '../model/item.js';
import { itemId } from '../model/item.js';
import type { Purchase } from '../model/purchase.js';
import { normalizePurchaseCode } from '../model/purchase.js';
import { choiceOption, knownOptions } from '../options.js';
import { type ApiKeyOption, apiKeySource } from './api-key.js';
import { ItemPool } from './item-pool.js';
import { KeptAnswers } from './kept-answers.js';
import { KeyService } from './service.js';
import type { ValidationEncoding } from './validation-encoding.js';

/** Options of {@link KeyApi}. */
export interface KeyApiOptions extends ClientOptions {
  /** Where interface A is served: an absolute https URL, with or without a path. */
  baseUrl: string;
  /**
   * The workspace's secret api_key (specification: "Authentication", interface A), or a function,
   * sync or async, that gives the present one with every call: a key is then rotated without a
   * restart.
   */
  apiKey: ApiKeyOption;
  /**
   * How the parameters of purchases/validation are sent; the specification does not show it.
   * Default `'form'`.
   */
  validationEncoding?: ValidationEncoding | undefined;
  /** How answers are kept; see {@link CacheOptions}. `false`: not at all. Default: on. */
  cache?: CacheOptions | false | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call when aborted; it then rejects with the signal's reason. Others are not harmed. */
  signal?: AbortSignal | undefined;
  /** Ask the service, whatever the cache holds; the answer is kept for later calls. Default false. */
  fresh?: boolean | undefined;
  /** Called when the answer came from another process of the fleet: the service was not asked. */
  onShared?: (() => void) | undefined;
}

/**
 * Client of interface A, the key API.
 *
 * `null` (or `[]`) means that the service said no. An exception means that we could not find out:
 * `service_unavailable`, `unexpected_response`, `service_refused` or `api_key_rejected`.
 *
 * Answers are kept ({@link CacheOptions}) and frozen, for other callers hold them too. Callers who ask
 * the same at the same time share one call to the service.
 */
export class KeyApi {
  /** The clock it was given, for what is judged by the same time: whether support is over. */
  readonly clock: () => number;
  readonly #service: KeyService;
  readonly #kept: KeptAnswers | undefined;

  /** @throws TypeError that names the wrong option. */
  constructor(options: KeyApiOptions) {
    const owner = 'KeyApi';
    const given = knownOptions(owner, options, [
      'baseUrl',
      'apiKey',
      'validationEncoding',
      'cache',
      ...CLIENT_OPTION_NAMES,
    ]);
    const settings = checkClientOptions(owner, given);
    this.clock = settings.clock;
    const cache = checkCacheOptions(owner, given.cache);
    const apiKey = apiKeySource(owner, given.apiKey);
    const pool = cache ? new ItemPool() : undefined;
    const url = serviceUrl(owner, 'baseUrl', given.baseUrl, settings.allowInsecure);
    this.#service = new KeyService(
      url,
      settings,
      apiKey,
      choiceOption(owner, 'validationEncoding', given.validationEncoding, ENCODINGS, 'form'),
      pool,
    );
    this.#kept =
      cache && pool
        ? new KeptAnswers(
            this.#service,
            cache,
            settings,
            `${url.origin}${url.basePath}`,
            apiKey,
            pool,
          )
        : undefined;
  }

  /**
   * The account of the api_key (account/details).
   * @throws MarketgateError `api_key_rejected` when the service does not know the key.
   */
  async getAccount(options: CallOptions = {}): Promise<Account> {
    return this.#kept ? this.#kept.account(options) : this.#service.account(options);
  }

  /** The whole catalogue, newest first (items/all). `[]` when the service says that it has none. */
  async listItems(options: CallOptions = {}): Promise<Item[]> {
    return (await (this.#kept ? this.#kept.list(options) : this.#service.items(options))) ?? [];
  }

  /**
   * One item (items/item), or `null` when the service says that there is none. A list that was asked
   * for lately answers too.
   * @param id - a whole number, or its digits as in a route parameter.
   * @throws MarketgateError `item_id_invalid` for anything else, without a call.
   */
  async getItem(id: number | string, options: CallOptions = {}): Promise<Item | null> {
    const item_id = itemId(id);
    return this.#kept ? this.#kept.item(item_id, options) : this.#service.item(item_id, options);
  }

  /**
   * The purchase of a code (purchases/validation), or `null` when the service says that the code is
   * invalid; that includes refunded purchases and codes of other authors.
   * @param code - as the customer gave it: blanks around it, full-width letters and invisible
   * characters are taken care of.
   * @throws TypeError when it is not a string, or blank.
   */
  async validatePurchase(code: string, options: CallOptions = {}): Promise<Purchase | null> {
    const purchase_code = plainCode(code);
    return this.#kept
      ? this.#kept.purchase(purchase_code, options)
      : this.#service.purchase(purchase_code, options);
  }

  /**
   * What {@link validatePurchase} would answer without waiting: the purchase, `null` for an invalid
   * code, or `undefined` when the service must be asked. It is what guards ask first.
   * @param code - a code without blanks or other decoration.
   */
  peekPurchase(code: string): Purchase | null | undefined {
    return this.#kept?.peekPurchase(code);
  }

  /**
   * Forgets what is cached for one code, in any spelling, or without a code everything, so that the next
   * call asks the service. With a shared cache it settles when that knows, for all processes.
   * @throws MarketgateError `store_unavailable` when the shared cache cannot be told. This process has
   * forgotten it all the same, and goes on telling the others.
   */
  async invalidate(code?: string): Promise<void> {
    if (code === undefined) await this.#kept?.forgetAll();
    else await this.#kept?.forgetPurchase(plainCode(code));
  }

  /**
   * Ends connections, subscriptions and all requests under way, which reject with
   * `service_unavailable`; waits for none of them. Later calls are refused, but for what is cached.
   */
  async close(): Promise<void> {
    this.#kept?.close();
    await this.#service.close();
  }
}

const ENCODINGS = ['form', 'json', 'query'] as const;

function plainCode(code: unknown): string {
  const plain = typeof code === 'string' ? normalizePurchaseCode(code) : '';
  if (plain !== '') return plain;
  throw new TypeError('KeyApi: purchase_code must be a string that is not blank');
}

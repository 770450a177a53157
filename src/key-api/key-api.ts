import { MarketgateError } from '../errors/marketgate-error.js';
import {
  CLIENT_OPTION_NAMES,
  type ClientOptions,
  type ClientSettings,
  checkClientOptions,
} from '../http/client-options.js';
import { Deadline } from '../http/deadline.js';
import { HttpClient } from '../http/http-client.js';
import { serviceUrl } from '../http/service-url.js';
import { choiceOption, knownOptions } from '../options/check-options.js';
import type { Account } from './account.js';
import { type ApiKeyOption, apiKeySource } from './api-key.js';
import {
  accountDetails,
  type Endpoint,
  itemsAll,
  itemsItem,
  purchasesValidation,
} from './endpoints.js';
import type { Item } from './item.js';
import { itemId } from './item-id.js';
import { judge, NO } from './judge.js';
import { KeyCheck } from './key-check.js';
import type { Purchase } from './purchase.js';
import { normalizePurchaseCode } from './purchase-code.js';
import { encode, type ValidationEncoding } from './validation-encoding.js';

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
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call when aborted; it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Client of interface A, the key API.
 *
 * `null` (or `[]`) means that the service said no. An exception means that we could not find out:
 * `service_unavailable`, `unexpected_response`, `service_refused` or `api_key_rejected`.
 */
export class KeyApi {
  /** The clock it was given, for what is judged by the same time: whether support is over. */
  readonly clock: () => number;
  readonly #settings: ClientSettings;
  readonly #encoding: ValidationEncoding;
  readonly #http: HttpClient;
  readonly #apiKey: () => string | Promise<string>;
  readonly #keyCheck: KeyCheck;

  /** @throws TypeError that names the wrong option. */
  constructor(options: KeyApiOptions) {
    const given = knownOptions('KeyApi', options, [
      'baseUrl',
      'apiKey',
      'validationEncoding',
      ...CLIENT_OPTION_NAMES,
    ]);
    this.#settings = checkClientOptions('KeyApi', given);
    this.clock = this.#settings.clock;
    const url = serviceUrl('KeyApi', 'baseUrl', given.baseUrl, this.#settings.allowInsecure);
    this.#apiKey = apiKeySource('KeyApi', given.apiKey);
    this.#encoding = choiceOption(
      'KeyApi',
      'validationEncoding',
      given.validationEncoding,
      ['form', 'json', 'query'],
      'form',
    );
    this.#http = new HttpClient(url, this.#settings);
    this.#keyCheck = new KeyCheck(this.#settings.clock, (key) => this.#askAboutKey(key));
  }

  /**
   * The account of the api_key (account/details).
   * @throws MarketgateError `api_key_rejected` when the service does not know the key.
   */
  async getAccount(options: CallOptions = {}): Promise<Account> {
    return this.#within(accountDetails, options, async (deadline) => {
      const key = await deadline.race(this.#key());
      const account = await this.#account(key, deadline);
      this.#keyCheck.note(key);
      return account;
    });
  }

  /** The whole catalogue, newest first (items/all). `[]` when the service says that it has none. */
  async listItems(options: CallOptions = {}): Promise<Item[]> {
    return (await this.#ask(itemsAll, {}, options)) ?? [];
  }

  /**
   * One item (items/item), or `null` when the service says that there is none.
   * @param id a whole number, or its digits as in a route parameter.
   * @throws MarketgateError `item_id_invalid` for anything else, without a call.
   */
  async getItem(id: number | string, options: CallOptions = {}): Promise<Item | null> {
    return this.#ask(itemsItem, { item_id: String(itemId(id)) }, options);
  }

  /**
   * The purchase of a code (purchases/validation), or `null` when the service says that the code is
   * invalid; that includes refunded purchases and codes of other authors.
   * @param code as the customer gave it: blanks around it, full-width letters and invisible
   * characters are taken care of.
   * @throws TypeError when it is not a string, or blank.
   */
  async validatePurchase(code: string, options: CallOptions = {}): Promise<Purchase | null> {
    const purchase_code = typeof code === 'string' ? normalizePurchaseCode(code) : '';
    if (purchase_code === '') {
      throw new TypeError('KeyApi: purchase_code must be a string that is not blank');
    }
    return this.#ask(purchasesValidation, { purchase_code }, options);
  }

  /** Ends the connections, once what is under way is answered. Later calls are refused. */
  async close(): Promise<void> {
    await this.#http.close();
  }

  async #ask<T>(
    endpoint: Endpoint<T>,
    parameters: Record<string, string>,
    options: CallOptions,
  ): Promise<T | null> {
    return this.#within(endpoint, options, async (deadline) => {
      const key = await deadline.race(this.#key());
      const answer = await this.#send(endpoint, key, parameters, deadline);
      if (answer !== NO) return answer;
      await deadline.race(this.#keyCheck.confirm(key));
      return null;
    });
  }

  async #within<T>(
    endpoint: Endpoint<unknown>,
    { signal }: CallOptions,
    run: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const what = `${endpoint.method} ${endpoint.path}`;
    const deadline = new Deadline(what, this.#settings.timeout, signal);
    try {
      return await run(deadline);
    } finally {
      deadline.dispose();
    }
  }

  async #key(): Promise<string> {
    return this.#apiKey();
  }

  /** The check of a key outlives the call that began it: others may be waiting for it too. */
  #askAboutKey(key: string): Promise<Account> {
    return this.#within(accountDetails, {}, (deadline) => this.#account(key, deadline));
  }

  async #account(key: string, deadline: Deadline): Promise<Account> {
    const answer = await this.#send(accountDetails, key, {}, deadline);
    if (answer !== NO) return answer;
    throw new MarketgateError(
      'api_key_rejected',
      `${accountDetails.method} ${accountDetails.path}: the service does not know this api_key; generate one in the workspace settings and put it in "apiKey"`,
    );
  }

  #send<T>(
    endpoint: Endpoint<T>,
    key: string,
    parameters: Record<string, string>,
    deadline: Deadline,
  ): Promise<T | typeof NO> {
    const { method, path } = endpoint;
    const all = { api_key: key, ...parameters };
    const secrets = [key, parameters.purchase_code ?? ''];
    return this.#http.call(
      {
        method,
        path,
        ...encode(all, method === 'GET' ? 'query' : this.#encoding),
        // All four only read; the POST of validation does too.
        repeatable: true,
        judge: (answer) => judge(endpoint, answer, secrets),
      },
      deadline,
    );
  }
}

import { isMarketgateError, MarketgateError } from '../errors/marketgate-error.js';
import type { ClientSettings } from '../http/client-options.js';
import { Deadline } from '../http/deadline.js';
import { HttpClient } from '../http/http-client.js';
import type { ServiceUrl } from '../http/service-url.js';
import type { Account } from './account.js';
import {
  accountDetails,
  anyAccount,
  type Endpoint,
  itemsAll,
  itemsItem,
  purchasesValidation,
} from './endpoints.js';
import type { Item } from './item.js';
import { judge, NO } from './judge.js';
import { KeyCheck } from './key-check.js';
import type { Purchase } from './purchase.js';
import { encode, type ValidationEncoding } from './validation-encoding.js';

/** How one question is asked. */
export interface AskOptions {
  /** Ends it when aborted; it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Whether a no would erase a yes: then the key is checked anew before it is believed. */
  isGrave?: boolean | undefined;
  /** Milliseconds of the call's time that are gone already. */
  spent?: number | undefined;
}

/**
 * Interface A itself: each method is one question to the service, with the api_key of the moment, a
 * deadline, and the check of the key before a first *no* is believed. Nothing is kept here.
 */
export class KeyService {
  readonly #settings: ClientSettings;
  readonly #encoding: ValidationEncoding;
  readonly #http: HttpClient;
  readonly #apiKey: () => string | Promise<string>;
  readonly #keyCheck: KeyCheck;

  constructor(
    url: ServiceUrl,
    settings: ClientSettings,
    apiKey: () => string | Promise<string>,
    encoding: ValidationEncoding,
  ) {
    this.#settings = settings;
    this.#apiKey = apiKey;
    this.#encoding = encoding;
    this.#http = new HttpClient(url, settings);
    this.#keyCheck = new KeyCheck(settings.clock, (key) => this.#askAboutKey(key));
  }

  account(options: AskOptions): Promise<Account> {
    return this.#within(accountDetails, options, async (deadline) => {
      const key = await deadline.race(this.#key());
      try {
        const account = await this.#account(key, deadline);
        this.#keyCheck.note(key);
        return account;
      } catch (error) {
        const isRejected = isMarketgateError(error) && error.code === 'api_key_rejected';
        if (isRejected) this.#keyCheck.note(key, error);
        throw error;
      }
    });
  }

  items(options: AskOptions): Promise<Item[] | null> {
    return this.#ask(itemsAll, {}, options);
  }

  item(id: number, options: AskOptions): Promise<Item | null> {
    return this.#ask(itemsItem, { item_id: String(id) }, options);
  }

  purchase(purchase_code: string, options: AskOptions): Promise<Purchase | null> {
    return this.#ask(purchasesValidation, { purchase_code }, options);
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #ask<T>(
    endpoint: Endpoint<T>,
    parameters: Record<string, string>,
    options: AskOptions,
  ): Promise<T | null> {
    return this.#within(endpoint, options, async (deadline) => {
      const key = await deadline.race(this.#key());
      const answer = await this.#send(endpoint, key, parameters, deadline);
      if (answer !== NO) return answer;
      await deadline.race(this.#keyCheck.confirm(key, options.isGrave));
      return null;
    });
  }

  async #within<T>(
    endpoint: Endpoint<unknown>,
    { signal, spent = 0 }: AskOptions,
    run: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const what = `${endpoint.method} ${endpoint.path}`;
    const deadline = new Deadline(what, Math.max(1, this.#settings.timeout - spent), signal);
    try {
      return await run(deadline);
    } finally {
      deadline.dispose();
    }
  }

  async #key(): Promise<string> {
    return this.#apiKey();
  }

  /**
   * The check of a key outlives the call that began it: others may be waiting for it too. An account
   * with an odd field in it is an account all the same.
   */
  #askAboutKey(key: string): Promise<unknown> {
    return this.#within(accountDetails, {}, (deadline) => this.#account(key, deadline, anyAccount));
  }

  async #account<T = Account>(
    key: string,
    deadline: Deadline,
    endpoint: Endpoint<T> = accountDetails as Endpoint<T>,
  ): Promise<T> {
    const answer = await this.#send(endpoint, key, {}, deadline);
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
    const secrets = [key, parameters.purchase_code ?? ''];
    return this.#http.call(
      {
        method,
        path,
        ...encode({ api_key: key, ...parameters }, method === 'GET' ? 'query' : this.#encoding),
        // All four only read; the POST of validation does too.
        repeatable: true,
        judge: (answer) => judge(endpoint, answer, secrets),
      },
      deadline,
    );
  }
}

import type { Deadline } from '../deadline.js';
import { DriftReports } from '../diagnostics.js';
import { isMarketgateError } from '../errors.js';
import type { ClientSettings, ServiceUrl } from '../http/client-options.js';
import { HttpClient } from '../http/http-client.js';
import type { Account } from '../model/account.js';
import type { Item } from '../model/item.js';
import type { Purchase } from '../model/purchase.js';
import { CodeAlarm } from './code-alarm.js';
import {
  type Asked,
  accountDetails,
  type Endpoint,
  itemsAll,
  itemsItem,
  purchasesValidation,
} from './endpoints.js';
import type { ItemPool } from './item-pool.js';
import { judge, NO } from './judge.js';
import { KeyCheck } from './key-check.js';
import { type Judging, loadReaders, type Readers } from './load-readers.js';
import { encode, type ValidationEncoding } from './validation-encoding.js';

/** How one question is asked. */
export interface AskOptions {
  /** Ends it when aborted; it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Whether a no would erase a yes: then the key is checked anew before it is believed. */
  isGrave?: boolean | undefined;
  /** Milliseconds of the call's time that have elapsed. */
  elapsed?: number | undefined;
}

/**
 * Interface A itself: each method is one question to the service, with the api_key of the moment, a
 * deadline, and the check of the key before a first *no* is believed. Nothing is kept here.
 */
export class KeyService {
  /** What this client has to say about answers that it coped with. */
  readonly drift: DriftReports;
  /** Watches whether the service still knows any code. */
  readonly alarm: CodeAlarm;
  /** Called when the check of a key behind a negative answer finds that the service does not know it. */
  onKeyRejected: () => void = () => {};
  readonly #settings: ClientSettings;
  readonly #encoding: ValidationEncoding;
  readonly #http: HttpClient;
  readonly #apiKey: () => string | Promise<string>;
  readonly #keyCheck: KeyCheck;
  readonly #pool: ItemPool | undefined;

  constructor(
    url: ServiceUrl,
    settings: ClientSettings,
    apiKey: () => string | Promise<string>,
    encoding: ValidationEncoding,
    pool: ItemPool | undefined,
  ) {
    this.#pool = pool;
    this.drift = new DriftReports(settings.clock);
    this.alarm = new CodeAlarm(settings.clock);
    this.#settings = settings;
    this.#apiKey = apiKey;
    this.#encoding = encoding;
    this.#http = new HttpClient(url, settings);
    this.#keyCheck = new KeyCheck(settings.monotonicClock, (key) => this.#askAboutKey(key));
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

  async #ask<T>(endpoint: Endpoint<T>, parameters: Asked, options: AskOptions): Promise<T | null> {
    const deadline = this.#deadline(endpoint, options);
    const { purchase_code: code } = parameters;
    try {
      const given = this.#apiKey();
      const key = typeof given === 'string' ? given : await deadline.race(given);
      const answer = await this.#send(endpoint, key, parameters, deadline);
      if (answer !== NO) {
        if (code !== undefined) this.alarm.yes(code);
        return answer;
      }
      await deadline.race(this.#keyCheck.confirm(key, options.isGrave));
      if (code !== undefined) this.alarm.no(endpoint.path, code, options.isGrave ?? false);
      return null;
    } catch (error) {
      const isRejected = isMarketgateError(error) && error.code === 'api_key_rejected';
      if (isRejected && code !== undefined) this.alarm.keyRejected(endpoint.path, code);
      throw error;
    } finally {
      deadline.dispose();
    }
  }

  async #within<T>(
    endpoint: Endpoint<unknown>,
    options: AskOptions,
    run: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const deadline = this.#deadline(endpoint, options);
    try {
      return await run(deadline);
    } finally {
      deadline.dispose();
    }
  }

  #deadline({ method, path }: Endpoint<unknown>, { signal, elapsed = 0 }: AskOptions): Deadline {
    const left = Math.max(1, this.#settings.timeout - elapsed);
    return this.#http.deadline(`${method} ${path}`, left, signal);
  }

  async #key(): Promise<string> {
    return this.#apiKey();
  }

  /** The check of a key outlives the call that began it: others may be waiting for it too. */
  async #askAboutKey(key: string): Promise<void> {
    try {
      await this.#within(accountDetails, {}, (deadline) => this.#account(key, deadline));
    } catch (error) {
      if (isMarketgateError(error) && error.code === 'api_key_rejected') this.onKeyRejected();
      throw error;
    }
  }

  async #account(key: string, deadline: Deadline): Promise<Account> {
    // Of account/details a no comes back as `api_key_rejected`.
    return (await this.#send(accountDetails, key, {}, deadline)) as Account;
  }

  #send<T>(
    endpoint: Endpoint<T>,
    key: string,
    parameters: Asked,
    deadline: Deadline,
  ): Promise<T | typeof NO> {
    const readers = loadReaders();
    // Before the request, and not beside it: what an answer says about pauses must be heeded at once.
    return readers instanceof Promise
      ? deadline
          .race(readers)
          .then((loaded) => this.#sendFor(loaded, endpoint, key, parameters, deadline))
      : this.#sendFor(readers, endpoint, key, parameters, deadline);
  }

  #sendFor<T>(
    readers: Readers,
    endpoint: Endpoint<T>,
    key: string,
    parameters: Asked,
    deadline: Deadline,
  ): Promise<T | typeof NO> {
    const { method, path } = endpoint;
    const secrets = [key, parameters.purchase_code ?? ''];
    const reading: Judging = { readers, drift: this.drift, pool: this.#pool, deadline };
    return this.#http.call(
      {
        method,
        path,
        ...encode({ api_key: key, ...parameters }, method === 'GET' ? 'query' : this.#encoding),
        // All four only read; the POST of validation does too.
        repeatable: true,
        judge: (answer) => judge(endpoint, parameters, answer, secrets, reading),
      },
      deadline,
    );
  }
}

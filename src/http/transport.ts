import type { Dispatcher } from 'undici';
import type { Deadline } from '../deadline.js';
import type { ClientSettings } from './client-options.js';
import { Exchange, type WireAnswer } from './exchange.js';
import { closedError, networkFailure } from './failure.js';
import type { ServiceUrl } from './service-url.js';
import { USER_AGENT } from './user-agent.js';

/** One request as it goes out. */
export interface WireRequest {
  readonly method: 'GET' | 'POST';
  /** The endpoint's path, as in the specification: what errors may name. */
  readonly path: string;
  readonly query?: string | undefined;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
}

export const nameOf = (request: WireRequest): string => `${request.method} ${request.path}`;

/** The connections to one service. */
export class Transport {
  readonly #url: ServiceUrl;
  readonly #settings: ClientSettings;
  readonly #headers: Record<string, string>;
  readonly #withType = new Map<string, Record<string, string>>();
  #pool: Dispatcher | undefined;
  #opening: Promise<Dispatcher> | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(url: ServiceUrl, settings: ClientSettings) {
    this.#url = url;
    this.#settings = settings;
    this.#headers = {
      accept: 'application/json',
      // What is not compressed cannot unpack into more than was counted.
      'accept-encoding': 'identity',
      'user-agent': USER_AGENT,
    };
  }

  /** Sends once. Resolves with whatever answer came; rejects when none did, or none to be read. */
  send(request: WireRequest, deadline: Deadline): Promise<WireAnswer> {
    const dispatcher = this.#settings.dispatcher ?? this.#pool;
    // No turn of waiting but for the first call.
    if (dispatcher !== undefined) return this.#dispatch(dispatcher, request, deadline);
    return this.#open().then((pool) => this.#dispatch(pool, request, deadline));
  }

  #dispatch(dispatcher: Dispatcher, request: WireRequest, deadline: Deadline): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      this.checkOpen();
      const what = nameOf(request);
      const { maxResponseBytes } = this.#settings;
      const exchange = new Exchange(what, maxResponseBytes, deadline, resolve, reject);
      if (deadline.ended) return;
      try {
        dispatcher.dispatch(this.#wire(request), exchange);
      } catch (error) {
        exchange.onEnd(networkFailure(what, error));
      }
    });
  }

  /** @throws MarketgateError `service_unavailable` once it is closed. */
  checkOpen(): void {
    if (this.#closed) throw closedError();
  }

  /** Ends the connections. A dispatcher that was passed in stays open. */
  close(): Promise<void> {
    this.#closed = true;
    this.#closing ??= (async () => {
      const pool = await this.#opening;
      this.#pool = undefined;
      await pool?.destroy();
    })();
    return this.#closing;
  }

  #wire(request: WireRequest): Dispatcher.DispatchOptions {
    const { method, path, query, body, contentType } = request;
    return {
      origin: this.#url.origin,
      path: `${this.#url.basePath}${path}${query ? `?${query}` : ''}`,
      method,
      headers: this.#headersFor(contentType),
      body: body ?? null,
      // The deadline of the call ends it; undici's own clocks of 300 seconds would only be more timers.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Switches off a redirect interceptor that a dispatcher was composed with.
      ...{ maxRedirections: 0 },
    };
  }

  /** Made once for each type: the same few objects go out with every request. */
  #headersFor(contentType: string | undefined): Record<string, string> {
    if (contentType === undefined) return this.#headers;
    let headers = this.#withType.get(contentType);
    if (headers === undefined) {
      headers = { ...this.#headers, 'content-type': contentType };
      this.#withType.set(contentType, headers);
    }
    return headers;
  }

  #open(): Promise<Dispatcher> {
    // Loaded with the first call: undici is half of what importing the package would cost.
    this.#opening ??= import('undici').then(({ Pool }) => {
      this.#pool = new Pool(this.#url.origin, {
        connections: 128,
        connect: { timeout: this.#settings.timeout },
      });
      return this.#pool;
    });
    return this.#opening;
  }
}

import { globalAgent } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Deadline } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import type { ClientSettings, DispatcherLike, FetchLike, FetchLikeInit } from './client-options.js';
import { networkFailure } from './failure.js';
import { isTransient } from './response.js';

declare const __MARKETGATE_VERSION__: string | undefined;

/** The package's version, which the build inserts. */
export const PACKAGE_VERSION =
  typeof __MARKETGATE_VERSION__ === 'string' ? __MARKETGATE_VERSION__ : 'development';

export interface WireRequest {
  readonly method: 'GET' | 'POST';
  /** The endpoint's path, as in the specification. Errors name it; they never name the query. */
  readonly path: string;
  readonly query?: string;
  readonly body?: string;
  readonly contentType?: string;
}

export const nameOf = (request: WireRequest): string => `${request.method} ${request.path}`;

/** The query or the body that carries the parameters of a request. */
export function encode(
  parameters: Readonly<Record<string, string>>,
  encoding: 'form' | 'json' | 'query',
): Pick<WireRequest, 'query' | 'body' | 'contentType'> {
  if (encoding === 'json') {
    return { body: JSON.stringify(parameters), contentType: 'application/json' };
  }
  const text = new URLSearchParams(parameters).toString();
  if (encoding === 'query') return { query: text };
  return { body: text, contentType: 'application/x-www-form-urlencoded' };
}

export interface WireResponse {
  readonly status: number;
  /** The headers `Retry-After` and `Date`. */
  readonly retryAfter: string | undefined;
  readonly date: string | undefined;
  readonly body: Buffer;
}

const HEADERS = {
  accept: 'application/json',
  // The size is counted before decoding, so a compressed body could exceed the limit.
  'accept-encoding': 'identity',
  // Some deployments redirect user agents named Mozilla, Chrome, Firefox, Edge or Opera to their home page.
  'user-agent': `marketgate/${PACKAGE_VERSION}`,
};

/** The connections to one service. */
export class Transport {
  /** What sends the requests. */
  readonly #sender: FetchLike | DispatcherLike | Promise<FetchLike | OwnDispatcher>;

  constructor(private readonly settings: ClientSettings) {
    const { url, timeout } = settings;
    this.#sender = settings.fetch ?? settings.dispatcher ?? openOwn(url.origin, timeout);
    // If it cannot be opened, the first request rejects.
    if (this.#sender instanceof Promise) this.#sender.catch(() => {});
  }

  /**
   * Sends the request once. Resolves with a response of any status but 3xx; rejects when there is none, or it is
   * refused (a redirect, too large, compressed).
   * @param check - called when the request has a connection. What it throws is the result, and nothing is sent.
   */
  async send(request: WireRequest, deadline: Deadline, check: () => void): Promise<WireResponse> {
    const { method, path, query, body = null, contentType } = request;
    const settings = this.settings;
    const { url } = settings;
    const options = {
      origin: url.origin,
      path: `${url.basePath}${path}${query ? `?${query}` : ''}`,
      method,
      headers: { ...HEADERS, ...(contentType && { 'content-type': contentType }) },
      body,
      // The deadline of the call replaces undici's own timeouts.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Turns off a redirect interceptor of the dispatcher.
      maxRedirections: 0,
    };
    const sender = await this.#sender;
    const isOwn = this.#sender instanceof Promise && typeof sender === 'object';
    return new Promise((resolve, reject) => {
      const name = nameOf(request);
      const handler = new ResponseHandler(name, settings, deadline, check, isOwn, resolve, reject);
      if (deadline.aborted) return;
      try {
        if (typeof sender === 'function') void fetchInto(handler, sender, options);
        else sender.dispatch(options, handler);
      } catch (error) {
        handler.onError(error);
      }
    });
  }

  /** Ends the connections. A dispatcher that was passed in stays open. */
  async close(): Promise<void> {
    const own = this.#sender instanceof Promise ? await this.#sender : undefined;
    if (typeof own === 'object') await own.destroy();
  }
}

type OwnDispatcher = DispatcherLike & Pick<Dispatcher, 'destroy'>;

/** What sends the requests where the app has given nothing. */
async function openOwn(origin: string, timeout: number): Promise<FetchLike | OwnDispatcher> {
  // Not with the package, because undici would double the time to import that, and not with the first request,
  // because the customers of a process that has just started would wait for it.
  const loaded = await import('undici');
  // undici is CommonJS, which some bundles have at `default` only.
  const { EnvHttpProxyAgent, Pool } = loaded.Pool === undefined ? loaded.default : loaded;
  // Bun replaces undici by classes that cannot dispatch.
  if (typeof Pool.prototype.dispatch !== 'function') return (url, init) => fetch(url, init);
  const options = { connections: 128, connect: { timeout } };
  // Set where Node.js itself uses the proxies of the environment (NODE_USE_ENV_PROXY, --use-env-proxy).
  const { proxyEnv } = (globalAgent as { options?: { proxyEnv?: object } }).options ?? {};
  return proxyEnv === undefined ? new Pool(origin, options) : new EnvHttpProxyAgent(options);
}

type Abort = (reason: Error) => void;
type ResponseHeaders = Record<string, string | string[] | undefined>;

const CALL_ENDED = new Error('the call has ended');

const first = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

/**
 * Receives one response. It handles undici's `dispatch` instead of its `request`, to count the size while
 * the body arrives, to refuse a redirect before its body, and to build no stream.
 *
 * undici 7 and 8 call `onRequestStart` and the `onResponse…` methods, undici 6 calls `onConnect`,
 * `onHeaders`, `onData`, `onComplete` and `onError`.
 */
class ResponseHandler {
  #controller: { abort: Abort } | undefined;
  #isDone = false;
  #status = 0;
  #retryAfter: string | undefined;
  #date: string | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(
    private readonly name: string,
    private readonly settings: ClientSettings,
    private readonly deadline: Deadline,
    private readonly check: () => void,
    /** Whether the dispatcher was opened here. */
    private readonly isOwn: boolean,
    private readonly resolve: (response: WireResponse) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    deadline.addListener(this.#onEnd);
  }

  /** Ends the request, also when the deadline of the call ends. */
  readonly #onEnd = (reason: unknown): void => {
    if (this.#hasFailed && !this.deadline.isAbortedByCaller) this.#skipBody();
    if (!this.#finish()) return;
    this.#chunks = [];
    this.reject(reason);
    this.#controller?.abort(CALL_ENDED);
  };

  onRequestStart(controller: { abort: Abort }, context?: unknown): void {
    try {
      this.check();
    } catch (error) {
      this.#onEnd(error);
    }
    // The call can also have ended before, while the request was waiting for a connection.
    if (this.#isDone) {
      // An abort would close the connection, which undici keeps when the handler throws. An undici of the app can
      // be a mock that does not catch that.
      if (this.isOwn) throw CALL_ENDED;
      controller.abort(CALL_ENDED);
      return;
    }
    this.#controller = controller;
    const { history } = Object(context) as { history?: unknown };
    // A redirect interceptor of undici has followed one. Nothing has been sent to the other host yet.
    if (Array.isArray(history) && history.length > 0) this.#refuseRedirect('by the dispatcher');
  }

  onResponseStart(_controller: unknown, status: number, headers: ResponseHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#retryAfter = first(headers['retry-after']);
    this.#date = first(headers.date);
    const encoding = (first(headers['content-encoding']) ?? '').trim().toLowerCase();
    if (status >= 300 && status < 400) {
      this.#refuseRedirect(`HTTP ${status}`);
    } else if (encoding !== 'identity' && encoding !== '') {
      this.#refuseBody('the answer is compressed, although that was not asked for');
    } else if (Number(first(headers['content-length'])) > this.settings.maxResponseBytes) {
      this.#refuseLargeBody();
    }
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#isDone) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.settings.maxResponseBytes) this.#refuseLargeBody();
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.#finish()) return;
    const [only] = this.#chunks;
    const body = only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks);
    this.resolve({ status: this.#status, retryAfter: this.#retryAfter, date: this.#date, body });
  }

  onResponseError(_controller: unknown, error: unknown): void {
    if (this.#hasFailed) this.#skipBody();
    if (this.#finish()) this.reject(networkFailure(this.name, this.settings.url.origin, error));
  }

  onConnect(abort: Abort, context?: unknown): void {
    this.onRequestStart({ abort }, context);
  }

  onHeaders(status: number, raw: readonly (Buffer | string)[]): void {
    const headers: ResponseHeaders = {};
    for (let at = 0; at < raw.length; at += 2) {
      headers[String(raw[at]).toLowerCase()] ??= String(raw[at + 1]);
    }
    this.onResponseStart(undefined, status, headers);
  }

  onData(chunk: Buffer): void {
    this.onResponseData(undefined, chunk);
  }

  onComplete(): void {
    this.onResponseEnd();
  }

  onError(error: unknown): void {
    this.onResponseError(undefined, error);
  }

  #refuseRedirect(how: string): void {
    this.#refuse(
      `was redirected (${how}), and redirects are never followed; check the URL that was configured`,
    );
  }

  #refuseLargeBody(): void {
    this.#refuseBody(
      `the answer is larger than ${this.settings.maxResponseBytes} bytes; raise "maxResponseBytes" if it should be`,
    );
  }

  /** A body that is too large or compressed. */
  #refuseBody(problem: string): void {
    if (this.#hasFailed) this.#skipBody();
    else this.#refuse(problem);
  }

  /** Whether the status says that the service failed: then that and `Retry-After` are all that counts. */
  get #hasFailed(): boolean {
    return isTransient(this.#status);
  }

  /** Resolves with an empty body. */
  #skipBody(): void {
    if (this.#isDone) return;
    this.#chunks = [];
    this.onResponseEnd();
    this.#controller?.abort(new Error('the body is not needed'));
  }

  #refuse(problem: string): void {
    this.#onEnd(new MarketgateError('unexpected_response', `${this.name}: ${problem}`));
  }

  /** Stops listening. @returns whether the request had not ended before. */
  #finish(): boolean {
    if (this.#isDone) return false;
    this.#isDone = true;
    this.deadline.removeListener(this.#onEnd);
    return true;
  }
}

/** The status where `fetch` followed a redirect, or hides its status. */
const REDIRECT = 302;

/** Sends with `fetch`, and calls the handler as undici does. */
async function fetchInto(
  handler: ResponseHandler,
  fetch: FetchLike,
  request: Omit<FetchLikeInit, 'signal' | 'redirect'> & { origin: string; path: string },
): Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  handler.onRequestStart(controller);
  // The call has ended, so nothing is sent.
  if (signal.aborted) return;
  try {
    const { origin, path, method, headers, body } = request;
    const init = { method, headers, body, signal, redirect: 'manual' } as const;
    const response = await fetch(`${origin}${path}`, init);
    if (response.type === 'error') throw new TypeError('the request failed');
    const isRedirect = response.redirected || response.type === 'opaqueredirect';
    // `content-encoding` is left out, because `fetch` has decoded the body.
    handler.onResponseStart(undefined, isRedirect ? REDIRECT : response.status, {
      'retry-after': response.headers.get('retry-after') ?? undefined,
      date: response.headers.get('date') ?? undefined,
      'content-length': response.headers.get('content-length') ?? undefined,
    });
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      if (signal.aborted) break;
      handler.onResponseData(undefined, Buffer.from(chunk));
    }
    handler.onResponseEnd();
  } catch (error) {
    handler.onError(error);
  }
}

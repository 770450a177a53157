import { globalAgent } from 'node:http';
import type { Dispatcher } from 'undici';
import { type Deadline, onAbort } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import type { ClientSettings, FetchLike } from './client-options.js';
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
  /** Whether it can be sent again safely. */
  readonly repeatable: boolean;
}

export const nameOf = (request: Pick<WireRequest, 'method' | 'path'>): string =>
  `${request.method} ${request.path}`;

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

/** A request as it is sent. */
interface Sent {
  readonly origin: string;
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body: string | null;
  readonly signal: AbortSignal;
}

/** The head of a response, and its body, which has not been read. */
interface Received {
  readonly status: number;
  header(name: string): string | undefined;
  readonly body: object | null;
}

/**
 * Sends one request.
 * @param onStart - called with the redirects that were followed, each time when the request has a connection. What it
 * throws is the result, and nothing is sent.
 */
type Send = (sent: Sent, onStart: (redirects: number) => void) => Promise<Received>;

/** The connections to one service. */
export class Transport {
  readonly #send: Send | Promise<Send>;
  readonly #own: Promise<Dispatcher | undefined>;

  constructor(private readonly settings: ClientSettings) {
    const { url, timeout, fetch, dispatcher } = settings;
    const isGiven = fetch !== undefined || dispatcher !== undefined;
    this.#own = isGiven ? Promise.resolve(undefined) : openOwn(url.origin, timeout);
    // If it cannot be opened, the first request rejects.
    this.#own.catch(() => {});
    if (fetch !== undefined) this.#send = byFetch(fetch);
    else if (dispatcher !== undefined) this.#send = byUndici(dispatcher as Dispatcher);
    else {
      this.#send = this.#own.then((own) =>
        own === undefined
          ? byFetch((url, init) => globalThis.fetch(url, init))
          : byUndici(own, true),
      );
      this.#send.catch(() => {});
    }
  }

  /**
   * Sends the request once. Resolves with a response of any status but 3xx; rejects when there is none, or it is
   * refused (a redirect, too large, compressed).
   * @param check - called when the request has a connection. What it throws is the result, and nothing is sent.
   */
  async send(request: WireRequest, deadline: Deadline, check: () => void): Promise<WireResponse> {
    const { method, path, query, body = null, contentType } = request;
    const { url } = this.settings;
    const name = nameOf(request);
    // Ends the request with the call, and where its response is refused.
    const ending = new AbortController();
    const stop = onAbort(deadline.signal, () => ending.abort(deadline.signal.reason));
    const sent: Sent = {
      origin: url.origin,
      path: `${url.basePath}${path}${query ? `?${query}` : ''}`,
      method,
      headers: { ...HEADERS, ...(contentType && { 'content-type': contentType }) },
      body,
      signal: ending.signal,
    };
    let starts = 0;
    const onStart = (redirects: number): void => {
      deadline.signal.throwIfAborted();
      if (redirects > 0) throw redirected(name, 'by the dispatcher');
      if (starts++ === 0) check();
      else if (!request.repeatable) throw notRepeated(name);
    };
    try {
      const send = await this.#send;
      deadline.signal.throwIfAborted();
      const received = await deadline.race(send(sent, onStart));
      return await this.#read(name, received, deadline, ending);
    } catch (error) {
      ending.abort(CALL_ENDED);
      if (deadline.aborted) throw deadline.signal.reason;
      throw error instanceof MarketgateError ? error : networkFailure(name, url.origin, error);
    } finally {
      stop();
    }
  }

  /** Ends the connections. A dispatcher that was passed in stays open. */
  async close(): Promise<void> {
    await (await this.#own)?.destroy();
  }

  async #read(
    name: string,
    received: Received,
    deadline: Deadline,
    ending: AbortController,
  ): Promise<WireResponse> {
    const { status } = received;
    const { maxResponseBytes: most } = this.settings;
    const head = {
      status,
      retryAfter: received.header('retry-after'),
      date: received.header('date'),
    };
    if (status >= 300 && status < 400) throw redirected(name, `HTTP ${status}`);
    try {
      const encoding = (received.header('content-encoding') ?? '').trim().toLowerCase();
      if (encoding !== 'identity' && encoding !== '') {
        throw refused(name, 'the answer is compressed, although that was not asked for');
      }
      const length = Number(received.header('content-length'));
      const body = length > most ? undefined : await deadline.race(readBody(received.body, most));
      if (body !== undefined) return { ...head, body };
      throw refused(
        name,
        `the answer is larger than ${most} bytes; raise "maxResponseBytes" if it should be`,
      );
    } catch (error) {
      // The service failed: then the status and `Retry-After` are all that counts.
      if (!isTransient(status) || deadline.isAbortedByCaller) throw error;
      ending.abort(CALL_ENDED);
      return { ...head, body: Buffer.alloc(0) };
    }
  }
}

/** Reads a body; `undefined`: it is larger than `most` bytes. */
async function readBody(body: object | null, most: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > most) return undefined;
    chunks.push(chunk);
  }
  const [only] = chunks;
  return only instanceof Buffer && chunks.length === 1 ? only : Buffer.concat(chunks);
}

const CALL_ENDED = new Error('the call has ended');

const refused = (name: string, problem: string): MarketgateError =>
  new MarketgateError('unexpected_response', `${name}: ${problem}`);

const redirected = (name: string, how: string): MarketgateError =>
  refused(
    name,
    `was redirected (${how}), and redirects are never followed; check the URL that was configured`,
  );

const notRepeated = (name: string): MarketgateError =>
  new MarketgateError(
    'service_unavailable',
    `${name}: the request failed, and the dispatcher was kept from sending it again, because an auth_key works once`,
  );

/** Opens what sends the requests where the app has given nothing; `undefined`: the global `fetch` does. */
async function openOwn(origin: string, timeout: number): Promise<Dispatcher | undefined> {
  // Not with the package, because undici would double the time to import that, and not with the first request,
  // because the customers of a process that has just started would wait for it.
  const loaded = await import('undici');
  // undici is CommonJS, which some bundles have at `default` only.
  const { EnvHttpProxyAgent, Pool } = loaded.Pool === undefined ? loaded.default : loaded;
  // Bun replaces undici by classes that cannot dispatch.
  if (typeof Pool.prototype.dispatch !== 'function') return undefined;
  const options = { connections: 128, connect: { timeout } };
  // Set where Node.js itself uses the proxies of the environment (NODE_USE_ENV_PROXY, --use-env-proxy).
  const { proxyEnv } = (globalAgent as { options?: { proxyEnv?: object } }).options ?? {};
  return proxyEnv === undefined ? new Pool(origin, options) : new EnvHttpProxyAgent(options);
}

/** @param isOwn whether the dispatcher was opened here. */
const byUndici =
  (dispatcher: Dispatcher, isOwn = false): Send =>
  async (sent, onStart) => {
    const watched = dispatcher.compose((dispatch) => (options, handler) => {
      const start = handler.onRequestStart;
      handler.onRequestStart = (controller, context) => {
        const { history } = Object(context) as { history?: unknown };
        try {
          onStart(Array.isArray(history) ? history.length : 0);
        } catch (error) {
          // An abort would close the connection, which undici keeps when the handler throws. A dispatcher of the app
          // can be one that does not catch that.
          if (isOwn) throw error;
          controller.abort(error as Error);
          return;
        }
        start?.call(handler, controller, context);
      };
      return dispatch(options, handler);
    });
    // The deadline of the call replaces undici's own timeouts.
    const response = await watched.request({ ...sent, ...TURNED_OFF });
    const { statusCode: status, headers, body } = response;
    return { status, header: (name) => [headers[name]].flat()[0], body };
  };

/** The timeouts of undici, and a redirect interceptor of the dispatcher. */
const TURNED_OFF = { headersTimeout: 0, bodyTimeout: 0, maxRedirections: 0 };

/** The status where `fetch` followed a redirect, or hides its status. */
const REDIRECT = 302;

const byFetch =
  (fetch: FetchLike): Send =>
  async ({ origin, path, ...init }) => {
    const response = await fetch(`${origin}${path}`, { ...init, redirect: 'manual' });
    if (response.type === 'error') throw new TypeError('the request failed');
    const { headers, body } = response;
    const isRedirect = response.redirected || response.type === 'opaqueredirect';
    return {
      status: isRedirect ? REDIRECT : response.status,
      // `fetch` has decoded the body.
      header: (name) =>
        name === 'content-encoding' ? undefined : (headers.get(name) ?? undefined),
      body,
    };
  };

import dns from 'node:dns';
import { globalAgent } from 'node:http';
import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import type { Deadline } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import type { ClientSettings, FetchLike } from './client-options.js';
import { networkFailure, notSent } from './failure.js';
import { MAX_REQUESTS } from './gates.js';
import { isTransient } from './response.js';

declare const __MARKETGATE_VERSION__: string | undefined;

/** The package's version, which the build inserts. */
export const PACKAGE_VERSION =
  typeof __MARKETGATE_VERSION__ === 'string' ? __MARKETGATE_VERSION__ : 'development';

/** The query or the body that carries the parameters of a request. */
interface Encoded {
  readonly query?: string;
  readonly body?: string;
  readonly contentType?: string;
}

export interface WireRequest {
  readonly method: 'GET' | 'POST';
  /** The endpoint's path, as in the specification. Errors name it; they never name the query. */
  readonly path: string;
  readonly parameters: Encoded;
  /** Whether it can be sent again safely. */
  readonly repeatable: boolean;
}

export const nameOf = (request: Pick<WireRequest, 'method' | 'path'>): string =>
  `${request.method} ${request.path}`;

export function encode(
  parameters: Readonly<Record<string, string>>,
  encoding: 'form' | 'json' | 'query',
): Encoded {
  if (encoding === 'json') {
    return { body: JSON.stringify(parameters), contentType: 'application/json' };
  }
  const text = new URLSearchParams(parameters).toString();
  if (encoding === 'query') return { query: text };
  return { body: text, contentType: 'application/x-www-form-urlencoded' };
}

/** The head of a response. */
interface Head {
  readonly status: number;
  /** The headers `Retry-After` and `Date`. */
  readonly retryAfter: string | undefined;
  readonly date: string | undefined;
}

export interface WireResponse extends Head {
  readonly body: Buffer;
}

const HEADERS = {
  accept: 'application/json',
  // The size is counted before decoding, so a compressed body could exceed the limit.
  'accept-encoding': 'identity',
  // Some deployments redirect user agents named Mozilla, Chrome, Firefox, Edge or Opera to their home page.
  'user-agent': `marketgate/${PACKAGE_VERSION}`,
};

/** A response whose body has not been read. */
interface Received extends Head {
  /** Leaving the iteration ends the request. */
  readonly body: AsyncIterable<Uint8Array> | null;
}

type Send = (
  origin: string,
  path: string,
  init: { method: 'GET' | 'POST'; headers: Record<string, string>; body: string | null },
  options: { deadline: Deadline; repeatable: boolean },
) => Promise<Received>;

/** The connections to one service. */
export class Transport {
  readonly #own: Promise<Dispatcher | undefined>;
  readonly #send: Promise<Send>;
  #lookups = 0;

  constructor(private readonly settings: ClientSettings) {
    const { url, timeout, fetch, dispatcher } = settings;
    const given = fetch ? byFetch(fetch) : dispatcher && byUndici(dispatcher as Dispatcher);
    const lookup: LookupFunction = (host, options, done) => {
      this.#lookups++;
      dns.lookup(host, options, (...found) => {
        this.#lookups--;
        done(...found);
      });
    };
    this.#own = given ? Promise.resolve(undefined) : openOwn(url.origin, timeout, lookup);
    this.#send = this.#own.then(
      (own) =>
        given ?? (own ? byUndici(own) : byFetch((target, init) => globalThis.fetch(target, init))),
    );
    // If it cannot be opened, the first request rejects.
    this.#send.catch(() => {});
  }

  /** Whether a host name is being looked up. That takes one of few threads, which an app can have given other work. */
  get isLookingUp(): boolean {
    return this.#lookups > 0;
  }

  /**
   * Sends the request once. Resolves with a response of any status but 3xx; rejects when there is none, or it is
   * refused (a redirect, too large).
   */
  async send(request: WireRequest, deadline: Deadline): Promise<WireResponse> {
    const { method, path, repeatable } = request;
    const { query, body = null, contentType } = request.parameters;
    const { url, timeout, maxResponseBytes } = this.settings;
    const name = nameOf(request);
    const target = `${url.basePath}${path}${query ? `?${query}` : ''}`;
    const headers = contentType ? { ...HEADERS, 'content-type': contentType } : HEADERS;
    let head: Head | undefined;
    const receive = async (): Promise<WireResponse> => {
      const send = await this.#send;
      deadline.throwIfAborted();
      deadline.isSent = true;
      const options = { deadline, repeatable };
      const response = await send(url.origin, target, { method, headers, body }, options);
      head = response;
      if (head.status >= 300 && head.status < 400) {
        const advice = 'redirects are never followed; check the URL that was configured';
        // Also ends its body, which can be endless.
        deadline.abort(refused(name, `was redirected, and ${advice}`));
      }
      deadline.throwIfAborted();
      const bytes = await readBody(response.body, maxResponseBytes);
      if (bytes !== undefined) return { ...head, body: bytes };
      const limit = `${maxResponseBytes} bytes; raise "maxResponseBytes" if it should be`;
      throw refused(name, `the answer is larger than ${limit}`);
    };
    try {
      return await deadline.race(receive());
    } catch (error) {
      // Where the service failed, its status and `Retry-After` count, also if the body is cut, too large or endless.
      if (head && isTransient(head.status) && !deadline.isAbortedByCaller) {
        return { ...head, body: Buffer.alloc(0) };
      }
      deadline.throwIfAborted();
      if (error instanceof MarketgateError) throw error;
      // The time to connect, which is that of the call, has run out before it could begin.
      const isLate = this.isLookingUp && Object(error).code === 'UND_ERR_CONNECT_TIMEOUT';
      throw isLate ? notSent(name, timeout) : networkFailure(name, url.origin, error);
    }
  }

  /** Ends the connections. A dispatcher that was passed in stays open. */
  async close(): Promise<void> {
    await (await this.#own)?.destroy();
  }
}

const refused = (name: string, problem: string): MarketgateError =>
  new MarketgateError('unexpected_response', `${name}: ${problem}`);

/** Opens what sends the requests where the app has given nothing; `undefined`: the global `fetch` does. */
async function openOwn(
  origin: string,
  timeout: number,
  lookup: LookupFunction,
): Promise<Dispatcher | undefined> {
  // Not with the package, because undici would double the time to import that, and not with the first request,
  // because the customers of a process that has just started would wait for it.
  const loaded = await import('undici');
  // undici is CommonJS, which some bundles have at `default` only.
  const { EnvHttpProxyAgent, Pool } = loaded.Pool === undefined ? loaded.default : loaded;
  // Bun replaces undici by classes that cannot dispatch.
  if (typeof Pool.prototype.dispatch !== 'function') return undefined;
  // One more for the probe.
  const options = { connections: MAX_REQUESTS + 1, connect: { timeout, lookup } };
  // Set where Node.js itself uses the proxies of the environment (NODE_USE_ENV_PROXY, --use-env-proxy).
  const { proxyEnv } = (globalAgent as { options?: { proxyEnv?: object } }).options ?? {};
  return proxyEnv === undefined ? new Pool(origin, options) : new EnvHttpProxyAgent(options);
}

/** The status where a redirect was followed, or its status is hidden. */
const REDIRECT = 302;

const NO_RETRIES = { maxRetries: 0, statusCodes: [] };

function byUndici(dispatcher: Dispatcher): Send {
  return async (origin, path, { method, headers, body }, { deadline: signal, repeatable }) => {
    const request = {
      origin,
      path,
      method,
      headers,
      body,
      signal,
      // The deadline of the call is in their place.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Of undici's interceptors, where the app has composed them.
      maxRedirections: 0,
      retryOptions: repeatable ? undefined : NO_RETRIES,
    };
    const response = await dispatcher.request(request);
    const { history = [] } = Object(response.context) as { history?: readonly unknown[] };
    return {
      status: history.length > 0 ? REDIRECT : response.statusCode,
      retryAfter: first(response.headers['retry-after']),
      date: first(response.headers.date),
      body: response.body,
    };
  };
}

const first = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;

const byFetch =
  (fetch: FetchLike): Send =>
  async (origin, path, init, { deadline: { signal } }) => {
    const response = await fetch(`${origin}${path}`, { ...init, signal, redirect: 'manual' });
    if (response.type === 'error') throw new TypeError('the request failed');
    const isRedirect = response.redirected || response.type === 'opaqueredirect';
    return {
      status: isRedirect ? REDIRECT : response.status,
      retryAfter: response.headers.get('retry-after') ?? undefined,
      date: response.headers.get('date') ?? undefined,
      body: response.body as AsyncIterable<Uint8Array> | null,
    };
  };

/** `undefined`: it is larger than `most` bytes. */
async function readBody(body: Received['body'], most: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Dispatcher, Pool } from 'undici';
import { type ClientSettings, type FetchLike, isLoopback } from './client-options.js';
import { NetworkFailure, ProxyFailure } from './failure.js';
import { MAX_REQUESTS } from './turns.js';

/** A request as it is handed to what sends it. */
export interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body: string | null;
  /** Ends the request, and the reading of its response. */
  readonly signal: AbortSignal;
  /** Whether no connection is used that was idle: the other side can have dropped it without a word. */
  readonly needsNewConnection: boolean;
}

/** A response whose body has not been read. */
export interface Incoming {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  /** Leaving the iteration ends the request. */
  readonly body: AsyncIterable<Uint8Array> | null;
  /** The `Content-Encoding` that is left to decode. */
  readonly encoding: string | undefined;
  /** Where a redirect leads, or was followed to; blank if that is hidden. */
  readonly redirect: string | undefined;
}

/** Sends one request; rejects if there is no response. */
export type Send = (origin: string, path: string, outgoing: Outgoing) => Promise<Incoming>;

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

/** Sends through a function of the app's, or the global `fetch`. */
export const byFetch =
  (fetch: FetchLike): Send =>
  async (origin, path, { method, headers, body, signal }) => {
    const init = { method, headers, body, signal, redirect: 'manual', cache: 'no-store' } as const;
    let response: Awaited<ReturnType<FetchLike>>;
    try {
      response = await fetch(`${origin}${path}`, init);
    } catch (error) {
      response = responseIn(error);
    }
    if (response.type === 'error' || typeof response.headers.get !== 'function') {
      throw new TypeError('the request failed');
    }
    const { status, redirected, url } = response;
    const header = (name: string): string | undefined => response.headers.get(name) ?? undefined;
    const isHidden = redirected || response.type === 'opaqueredirect';
    const location = isRedirect(status) ? (header('location') ?? '') : undefined;
    return {
      status,
      header,
      body: response.body as AsyncIterable<Uint8Array> | null,
      // A fetch decodes, and leaves the header as it was.
      encoding: undefined,
      redirect: isHidden ? (url ?? '') : location,
    };
  };

/** The response that some libraries throw at HTTP 404 or 500, in an error, where it is still to be read. */
function responseIn(error: unknown): Awaited<ReturnType<FetchLike>> {
  const { response } = Object(error) as { response?: Response };
  if (typeof response?.headers?.get === 'function' && !response.bodyUsed) return response;
  throw error;
}

/**
 * Milliseconds for which undici keeps an idle connection, whatever the service advertises: a NAT or a load balancer on the
 * way can drop it without a word. undici's timers can be half a second late.
 */
const KEPT = 3000;
/** Milliseconds after which no connection is used again, also if this process was frozen and no timer ran. */
const IDLE = 4000;
/** Milliseconds to connect to each address of a host but the last; in 250, the default, some reach none. */
const CONNECT_ATTEMPT = 2500;
/** Bytes of a response's head. */
const MAX_HEAD = 64 * 1024;

/** The package's own connections to one service: an agent of undici, which honours `HTTPS_PROXY` and the like. */
export class Connections {
  readonly #url: ClientSettings['url'];
  readonly #timeout: number;
  readonly #undici: typeof import('undici');
  #agent: Dispatcher | undefined;
  #openingAgent: Dispatcher | undefined;
  #usedAt = { time: 0, date: 0 };
  #lookups = 0;

  private constructor({ url, timeout }: ClientSettings, undici: typeof import('undici')) {
    this.#url = url;
    this.#timeout = timeout;
    this.#undici = undici;
  }

  /** @returns `undefined` on Bun, which replaces undici by classes that cannot dispatch. */
  static async open(settings: ClientSettings): Promise<Connections | undefined> {
    // Not with the package, because undici would double the time to import that, and not with the first request,
    // because the customers of a process that has just started would wait for it.
    const loaded = await import('undici');
    // undici is CommonJS, which some bundles have at `default` only.
    const undici = loaded.Agent === undefined ? loaded.default : loaded;
    if (typeof undici.Agent.prototype.dispatch !== 'function') return undefined;
    return new Connections(settings, undici as typeof import('undici'));
  }

  /** Whether a host name is being looked up. That takes one of few threads, which an app can have given other work. */
  get isLookingUp(): boolean {
    return this.#lookups > 0;
  }

  readonly send: Send = async (origin, path, { needsNewConnection, ...outgoing }) => {
    const agent = needsNewConnection ? this.#opening() : this.#shared();
    // The deadline of the call is in their place.
    const limits = { headersTimeout: 0, bodyTimeout: 0 };
    const response = await agent.request({ origin, path, ...outgoing, ...limits });
    this.#note();
    const header = (name: string): string | undefined => [response.headers[name]].flat()[0];
    const { statusCode: status } = response;
    return {
      status,
      header,
      body: response.body,
      encoding: [response.headers['content-encoding']].flat().join(),
      redirect: isRedirect(status) ? (header('location') ?? '') : undefined,
    };
  };

  /** Ends all connections, at once. */
  async close(): Promise<void> {
    await Promise.all([this.#agent?.destroy(), this.#openingAgent?.destroy()]);
  }

  /** Opens a connection for each request, and closes it after that. */
  #opening(): Dispatcher {
    this.#openingAgent ??= this.#open({ pipelining: 0 });
    return this.#openingAgent;
  }

  /** The connections that requests share, without those that were idle for too long. */
  #shared(): Dispatcher {
    const { time, date } = this.#usedAt;
    // Some hosts freeze the one clock with the process, and none the other.
    const idle = Math.max(performance.now() - time, Date.now() - date);
    if (this.#agent !== undefined && idle >= IDLE) {
      // Requests in flight still end.
      void this.#agent.close();
      this.#agent = undefined;
    }
    this.#note();
    this.#agent ??= this.#open({ connections: MAX_REQUESTS });
    return this.#agent;
  }

  #note(): void {
    this.#usedAt = { time: performance.now(), date: Date.now() };
  }

  #open(options: Pool.Options): Dispatcher {
    const { buildConnector, EnvHttpProxyAgent, Pool } = this.#undici;
    const connect = {
      timeout: this.#timeout,
      lookup: this.#lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: CONNECT_ATTEMPT,
    };
    const all = {
      ...options,
      // One for all connections of the agent, because it keeps the TLS session, which a new connection resumes.
      connect: buildConnector(connect),
      keepAliveTimeout: KEPT,
      keepAliveMaxTimeout: KEPT,
      maxHeaderSize: MAX_HEAD,
    };
    const { origin } = this.#url;
    if (isLoopback(new URL(origin).hostname)) return new Pool(origin, all);
    try {
      return new EnvHttpProxyAgent({
        ...all,
        proxyTls: connect,
        // Connects to the proxy. What fails there is told apart from what fails behind it.
        clientFactory: (proxy, given) => {
          const { connect: toProxy } = given as { connect: Connector };
          const connectToProxy: Connector = (target, done) =>
            toProxy(target, (error, socket) =>
              error ? done(new ProxyFailure(error), null) : done(null, socket as never),
            );
          return new Pool(proxy, { connect: connectToProxy });
        },
      });
    } catch {
      // The variable can contain a password, and undici's error the variable.
      throw new NetworkFailure({ code: 'PROXY_INVALID' });
    }
  }

  readonly #lookup: LookupFunction = (host, options, done) => {
    this.#lookups++;
    dns.lookup(host, options, (...found) => {
      this.#lookups--;
      done(...found);
    });
  };
}

type Connector = import('undici').buildConnector.connector;

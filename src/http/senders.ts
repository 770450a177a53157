import type { Dispatcher, Pool } from 'undici';
import { isNetworkFailure, ProxyFailure } from './failure.js';
import { type ClientSettings, type FetchLike, isLoopback } from './settings.js';

/** A request as it is handed to what sends it. */
export interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body: string | null;
  /** Ends the request, and the reading of its response. */
  readonly signal: AbortSignal;
}

/** A response whose body has not been read. */
export interface Incoming {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  /** Leaving the iteration ends the request. */
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** The `Content-Encoding` that is left to decode. */
  readonly encoding: string;
  /** Where a `fetch` was redirected to, if it followed that or hides it. */
  readonly followed?: string | undefined;
}

/** A response whose body has been read. */
export interface WireResponse extends Pick<Incoming, 'status' | 'header'> {
  readonly body: Buffer;
}

/** What sends the requests of a client: undici, or the app's `fetch`. */
export interface Sender {
  /**
   * Sends one request; rejects if there is no response.
   * @param isNew whether it must not go out on a connection that was used before: the other side can have dropped it
   * without a word.
   */
  send(origin: string, path: string, outgoing: Outgoing, isNew: boolean): Promise<Incoming>;
  /** Whether an error is that of the app's own `fetch`, and not of the network. */
  isOfApp(error: unknown): boolean;
  /** Ends all connections, at once. */
  close(): Promise<void>;
}

/** Makes the sender of a client. */
export async function openSender(settings: ClientSettings): Promise<Sender> {
  if (settings.fetch !== undefined) return senderByFetch(settings.fetch);
  // Not with the package, because undici would double the time to import that, and not with the first request,
  // because the customers of a process that has just started would wait for it.
  const loaded = await import('undici');
  // undici is CommonJS, which some bundles have at `default` only.
  const undici = loaded.Agent === undefined ? loaded.default : loaded;
  // Bun replaces undici by classes that cannot dispatch.
  return typeof undici.Agent.prototype.dispatch === 'function'
    ? senderByUndici(settings, undici as typeof import('undici'))
    : senderByFetch((url, init) => globalThis.fetch(url, init));
}

/** Sends through a function of the app's, or the global `fetch`. */
function senderByFetch(fetch: FetchLike): Sender {
  return {
    async send(origin, path, outgoing) {
      const init = { ...outgoing, redirect: 'manual', cache: 'no-store' } as const;
      const response = await fetch(`${origin}${path}`, init);
      if (response?.type === 'error') throw new TypeError('fetch failed');
      if (!isUnread(response)) {
        throw new TypeError(
          'marketgate: the function given as "fetch" gave no Response that can be read; return what fetch gives, a new one for each call',
        );
      }
      const { status, redirected, url } = response;
      const header = (name: string): string | undefined => response.headers.get(name) ?? undefined;
      const isHidden = redirected || response.type === 'opaqueredirect';
      return {
        status,
        header,
        body: chunksOf(response.body),
        // A fetch decodes, and leaves the header as it was.
        encoding: '',
        followed: isHidden ? (url ?? '') : undefined,
      };
    },
    isOfApp: (error) => !isNetworkFailure(error),
    close: async () => {},
  };
}

/** Whether it is a Response, and nobody has read it: a mock can give the same one for each call. */
function isUnread(response: Awaited<ReturnType<FetchLike>> | undefined): boolean {
  const { status, headers, body, bodyUsed } = Object(response);
  const isResponse = Number.isInteger(status) && typeof headers?.get === 'function';
  return isResponse && body !== undefined && bodyUsed !== true;
}

/** The body of a Response, also that of a mock: a stream, text or bytes. */
function chunksOf(body: unknown): Incoming['body'] {
  if (body === null) return [];
  if (typeof body === 'string' || body instanceof ArrayBuffer) return [Buffer.from(body as string)];
  if (body instanceof Uint8Array) return [body];
  if (Symbol.asyncIterator in Object(body) || Symbol.iterator in Object(body)) {
    return body as Incoming['body'];
  }
  throw new TypeError(
    'marketgate: the function given as "fetch" gave a Response whose body is no stream, text or bytes',
  );
}

/**
 * Milliseconds for which undici keeps an idle connection, whatever the service advertises: a NAT or a load balancer on the
 * way can drop it without a word. undici's timers can be a second late, and after 4 s none is used again.
 */
const KEPT = 3000;
/** Milliseconds to connect to each address of a host but the last; in 250, the default, some reach none. */
const CONNECT_ATTEMPT = 2500;
/** The most connections. Further requests wait. */
const MAX_CONNECTIONS = 128;
/** Bytes of a response's head. */
const MAX_HEAD = 64 * 1024;
/** Stands for a proxy that cannot be used, whose variable can contain a password. */
const UNUSABLE = 'http://proxy.invalid';

/** Sends through undici, with two agents: one keeps its connections, the other opens one for each request. */
function senderByUndici({ url, timeout }: ClientSettings, undici: typeof import('undici')): Sender {
  const { buildConnector, EnvHttpProxyAgent, Pool } = undici;
  const connect = {
    timeout,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: CONNECT_ATTEMPT,
  };
  const open = (options: Pool.Options): Dispatcher => {
    const all = {
      ...options,
      // One for all connections of the agent, because it keeps the TLS session, which a new connection resumes.
      connect: buildConnector(connect),
      keepAliveTimeout: KEPT,
      keepAliveMaxTimeout: KEPT,
      maxHeaderSize: MAX_HEAD,
    };
    if (isLoopback(new URL(url.origin).hostname)) return new Pool(url.origin, all);
    return new EnvHttpProxyAgent({
      ...all,
      httpProxy: proxyOf('http_proxy', 'HTTP_PROXY'),
      httpsProxy: proxyOf('https_proxy', 'HTTPS_PROXY'),
      proxyTls: connect,
      clientFactory: (proxy, given) => new ProxyPool(proxy, { connect: connectorTo(proxy, given) }),
    });
  };
  class ProxyPool extends Pool {
    override connect(options: Dispatcher.ConnectOptions): Promise<never> {
      // Where the proxy cuts the connection in place of an answer, undici would connect again at once, for ever.
      return super.connect(options).catch((error) => {
        throw error.code === 'UND_ERR_SOCKET' ? new ProxyFailure(error) : error;
      }) as Promise<never>;
    }
  }
  let kept: Dispatcher | undefined;
  let opening: Dispatcher | undefined;
  return {
    async send(origin, path, outgoing, isNew) {
      kept ??= open({ connections: MAX_CONNECTIONS });
      // Without pipelining, undici closes each connection after one request.
      if (isNew) opening ??= open({ pipelining: 0 });
      const agent = (isNew && opening) || kept;
      // The deadline of the call is in their place.
      const limits = { headersTimeout: 0, bodyTimeout: 0 };
      const response = await agent.request({ origin, path, ...outgoing, ...limits });
      const header = (name: string): string | undefined => [response.headers[name]].flat()[0];
      return {
        status: response.statusCode,
        header,
        body: response.body,
        encoding: [response.headers['content-encoding'] ?? ''].flat().join(),
      };
    },
    isOfApp: () => false,
    async close() {
      await Promise.all([kept?.destroy(), opening?.destroy()]);
    },
  };
}

/** The proxy that the environment names; `undefined`: none. */
function proxyOf(...names: readonly string[]): string | undefined {
  const proxy = names.map((name) => process.env[name]).find((value) => value !== undefined);
  if (!proxy) return undefined;
  return isUsable(proxy) ? proxy : UNUSABLE;
}

/** Whether undici can use a proxy. It knows SOCKS only as an experiment, and prints a warning about it. */
function isUsable(proxy: string): boolean {
  try {
    const { protocol, username, password, pathname, search, hash } = new URL(proxy);
    decodeURIComponent(username + password);
    return /^https?:$/.test(protocol) && pathname + search + hash === '/';
  } catch {
    return false;
  }
}

type Connector = import('undici').buildConnector.connector;

/** Connects to a proxy. What fails there is told apart from what fails behind it. */
function connectorTo(proxy: URL, given: object): Connector {
  if (proxy.origin === UNUSABLE) {
    const error = Object.assign(new Error('no http proxy'), { code: 'PROXY_INVALID' });
    return (_target, done) => done(error, null);
  }
  const { connect } = given as { connect: Connector };
  return (target, done) =>
    connect(target, (error, socket) =>
      error ? done(new ProxyFailure(error), null) : done(null, socket as never),
    );
}

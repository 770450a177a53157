import { constants } from 'node:buffer';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { Deadline } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import type { ClientSettings } from './client-options.js';
import { byFetch, Connections, type Incoming, type Send } from './connections.js';
import { NetworkFailure, networkFailure, notSent } from './failure.js';
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

/** A response whose body has been read. */
export interface WireResponse extends Pick<Incoming, 'status' | 'header'> {
  readonly body: Buffer;
}

const HEADERS = {
  accept: 'application/json',
  'accept-encoding': 'identity',
  // Some deployments redirect user agents named Mozilla, Chrome, Firefox, Edge or Opera to their home page.
  'user-agent': `marketgate/${PACKAGE_VERSION}`,
};

/** The way to one service: through connections of the package's own, or a `fetch`. */
export class Transport {
  readonly #own: Promise<Connections | undefined>;
  #connections: Connections | undefined;

  constructor(private readonly settings: ClientSettings) {
    this.#own = settings.fetch ? Promise.resolve(undefined) : Connections.open(settings);
    // If they cannot be opened, the first request rejects.
    this.#own.then(
      (own) => {
        this.#connections = own;
      },
      () => {},
    );
  }

  /** Whether a host name is being looked up, for which a request waits. */
  get isLookingUp(): boolean {
    return this.#connections?.isLookingUp === true;
  }

  async #send(): Promise<Send> {
    const own = await this.#own;
    return (
      own?.send ?? byFetch(this.settings.fetch ?? ((url, init) => globalThis.fetch(url, init)))
    );
  }

  /**
   * Sends the request once. Resolves with a response of any status but 3xx; rejects when there is none, or it is
   * refused (a redirect, too large).
   * @param onSend - called right before.
   */
  async send(
    request: WireRequest,
    deadline: Deadline,
    needsNewConnection: boolean,
    onSend: () => void,
  ): Promise<WireResponse> {
    const { method, path } = request;
    const { query, body = null, contentType } = request.parameters;
    const { url, timeout, maxResponseBytes } = this.settings;
    const name = nameOf(request);
    const target = `${url.basePath}${path}${query ? `?${query}` : ''}`;
    const headers = contentType ? { ...HEADERS, 'content-type': contentType } : HEADERS;
    const { signal } = deadline;
    let head: Incoming | undefined;
    const receive = async (): Promise<WireResponse> => {
      const send = await this.#send();
      deadline.throwIfAborted();
      onSend();
      const outgoing = { method, headers, body, signal, needsNewConnection };
      head = await send(url.origin, target, outgoing);
      // Also ends its body, which can be endless.
      if (head.redirect !== undefined) deadline.abort(redirected(name, url.origin, head.redirect));
      deadline.throwIfAborted();
      const bytes = await readBody(head.body, maxResponseBytes);
      const plain = bytes && (await decompress(name, bytes, head.encoding, maxResponseBytes));
      if (plain !== undefined) return { ...head, body: plain };
      const limit = `${maxResponseBytes} bytes; raise "maxResponseBytes" if it should be`;
      throw refused(name, `the answer is larger than ${limit}`);
    };
    try {
      return await deadline.race(receive());
    } catch (error) {
      // Where the service failed, its status and `Retry-After` count, also if the body is cut, too large or endless.
      const isOfService = head?.redirect === undefined && !deadline.isAbortedByCaller;
      if (head && isOfService && isTransient(head.status)) {
        return { ...head, body: Buffer.alloc(0) };
      }
      deadline.throwIfAborted();
      if (error instanceof MarketgateError) throw error;
      // The time to connect, which is that of the call, has run out before it could begin.
      const isLate = this.isLookingUp && Object(error).code === 'UND_ERR_CONNECT_TIMEOUT';
      if (isLate) throw notSent(name, timeout);
      throw networkFailure(name, url.origin, error, head !== undefined);
    }
  }

  /**
   * What answers at a path below the address: a response of any kind, whose body is not read.
   * @throws {@link NetworkFailure} where nothing does, or the reason of the signal.
   */
  async reach(path: string, signal: AbortSignal): Promise<Pick<Incoming, 'status' | 'header'>> {
    const { url } = this.settings;
    const outgoing = {
      method: 'GET',
      headers: HEADERS,
      body: null,
      needsNewConnection: false,
    } as const;
    try {
      const send = await this.#send();
      return await send(url.origin, `${url.basePath}${path}` || '/', { ...outgoing, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw new NetworkFailure(error);
    }
  }

  /** Ends the connections. */
  async close(): Promise<void> {
    await (await this.#own)?.close();
  }
}

const refused = (name: string, problem: string): MarketgateError =>
  new MarketgateError('unexpected_response', `${name}: ${problem}`);

/** The error of a redirect. It names the origin that it leads to; the rest can contain what was sent. */
function redirected(name: string, origin: string, location: string): MarketgateError {
  const to = URL.canParse(location, origin) ? new URL(location, origin).origin : 'null';
  // Of `data:` and the like.
  const where = to === 'null' || location === '' ? '' : ` to ${to}`;
  return refused(
    name,
    `was redirected${where}; redirects are never followed, so check the URL that was configured`,
  );
}

/** `undefined`: it is larger than `most` bytes. */
async function readBody(body: Incoming['body'], most: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const [gunzip, inflate, inflateRaw, brotli] = [
  promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip),
  promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflate),
  promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflateRaw),
  promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress),
];

/**
 * Decompresses a body, which some servers and proxies compress although it was asked for as it is. `undefined`: it is larger
 * than `most` bytes.
 * @throws MarketgateError `unexpected_response` for what cannot be decompressed.
 */
async function decompress(name: string, body: Buffer, encoding = '', most: number) {
  // The longest that zlib allows is 4 GiB on Node.js 20.
  const limit = { maxOutputLength: Math.min(most, constants.MAX_LENGTH) };
  let bytes = body;
  // The last one was applied last.
  for (const each of encoding.toLowerCase().split(',').reverse()) {
    const coding = each.trim();
    if (bytes.length === 0) return bytes;
    try {
      if (coding === 'gzip' || coding === 'x-gzip') bytes = await gunzip(bytes, limit);
      else if (coding === 'br') bytes = await brotli(bytes, limit);
      else if (coding === 'deflate') {
        // Some servers leave the header of zlib out.
        bytes = await ((Number(bytes[0]) & 15) === 8 ? inflate : inflateRaw)(bytes, limit);
      }
      // Others are mistakes, such as "utf-8" and "none", or make no JSON.
    } catch (error) {
      if (Object(error).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
      throw refused(name, 'the answer is compressed, and broken or cut');
    }
  }
  return bytes;
}

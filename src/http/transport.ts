import { constants } from 'node:buffer';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { Deadline } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import { redact, withoutSecrets } from '../redact.js';
import { PACKAGE_VERSION } from '../version.js';
import { Failure, networkFailure } from './failure.js';
import { isTransient } from './response.js';
import {
  type Incoming,
  type Outgoing,
  openSender,
  type Sender,
  type WireResponse,
} from './senders.js';
import type { ClientSettings } from './settings.js';

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
  /** Values that are sent, and must not appear in an error. */
  readonly secrets: readonly string[];
  /** Whether it can be sent again safely. If not, it is not risked on a connection that can be dead either. */
  readonly isRepeatable: boolean;
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

const HEADERS = {
  accept: 'application/json',
  'accept-encoding': 'identity',
  // Some deployments redirect user agents named Mozilla, Chrome, Firefox, Edge or Opera to their home page.
  'user-agent': `marketgate/${PACKAGE_VERSION}`,
};

/** The way to one service, one request at a time. */
export class Transport {
  readonly #sender: Promise<Sender>;

  constructor(private readonly settings: ClientSettings) {
    this.#sender = openSender(settings);
    // If there is none, the first request rejects.
    this.#sender.catch(() => {});
  }

  /**
   * Sends the request once. Resolves with a response of any status but 3xx; rejects when there is none, or it is
   * refused (a redirect, too large), or with what the app's own `fetch` has thrown.
   */
  async send(request: WireRequest, deadline: Deadline): Promise<WireResponse> {
    const { method, path, secrets } = request;
    const { query, body = null, contentType } = request.parameters;
    const { url, maxResponseBytes: most } = this.settings;
    const name = nameOf(request);
    const target = `${url.basePath}${path}${query ? `?${query}` : ''}`;
    // Each request has headers of its own, because undici adds `host` for a proxy, and instrumentation what it traces.
    const headers = { ...HEADERS, ...(contentType && { 'content-type': contentType }) };
    const outgoing: Outgoing = { method, headers, body, signal: deadline.signal };
    const sender = await deadline.race(this.#sender);
    let head: Incoming | undefined;
    let isRedirect = false;
    const receive = async (): Promise<WireResponse> => {
      head = await sender.send(url.origin, target, outgoing, !request.isRepeatable);
      const { status, header, followed } = head;
      isRedirect = followed !== undefined || (status >= 300 && status < 400);
      // Also ends its body, which can be endless.
      if (isRedirect) {
        const location = followed ?? header('location') ?? '';
        deadline.abort(redirected(name, `${url.origin}${target}`, location, secrets));
      }
      deadline.throwIfAborted();
      const bytes = await readBody(head.body, most);
      const plain = bytes && (await decompress(name, bytes, head.encoding, most));
      if (plain !== undefined) return { ...head, body: plain };
      const limit = `${most} bytes; raise "maxResponseBytes" if it should be`;
      throw refused(name, `the answer is larger than ${limit}`);
    };
    try {
      return await deadline.race(receive());
    } catch (error) {
      // Where the service failed, its status and `Retry-After` count, also if the body is cut, too large or endless.
      const isOfService = !isRedirect && !deadline.isAbortedByCaller;
      if (head && isOfService && isTransient(head.status)) {
        return { ...head, body: Buffer.alloc(0) };
      }
      deadline.throwIfAborted();
      if (error instanceof MarketgateError) throw error;
      if (sender.isOfApp(error)) throw withoutSecrets(error, secrets);
      throw networkFailure(name, url.origin, error, head !== undefined);
    }
  }

  /**
   * What answers at a path below the address: a response of any kind, whose body is not read.
   * @throws {@link Failure} where nothing does, or the reason of the signal.
   */
  async reach(path: string, signal: AbortSignal): Promise<Pick<Incoming, 'status' | 'header'>> {
    const { url } = this.settings;
    const outgoing: Outgoing = { method: 'GET', headers: { ...HEADERS }, body: null, signal };
    try {
      const sender = await this.#sender;
      return await sender.send(url.origin, `${url.basePath}${path}` || '/', outgoing, false);
    } catch (error) {
      signal.throwIfAborted();
      throw Failure.of(error);
    }
  }

  /** Ends the connections. */
  async close(): Promise<void> {
    await (await this.#sender).close();
  }
}

const refused = (name: string, problem: string): MarketgateError =>
  new MarketgateError('unexpected_response', `${name}: ${problem}`);

/** The error of a redirect. It names the origin or the path that it leads to; the rest can contain what was sent. */
function redirected(
  name: string,
  from: string,
  location: string,
  secrets: readonly string[],
): MarketgateError {
  const to = URL.canParse(location, from) ? new URL(location, from) : undefined;
  let where = '';
  // Of `data:` and the like, the origin is "null".
  if (location !== '' && to !== undefined && to.origin !== 'null') {
    const isSame = to.origin === new URL(from).origin;
    where = isSame
      ? ` to the path ${redact(to.pathname, secrets)}`
      : ` to ${redact(to.origin, secrets)}`;
  }
  return refused(
    name,
    `was redirected${where}; redirects are never followed, so check the URL that was configured`,
  );
}
/** `undefined`: it is larger than `most` bytes. */
async function readBody(body: Incoming['body'], most: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    // A mock can stream text.
    const chunk = typeof part === 'string' ? Buffer.from(part) : part;
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

/** By content coding. Others are mistakes, such as "utf-8" and "none", or make no JSON. */
const DECODERS: Readonly<Record<string, typeof gunzip>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  br: brotli,
  // Some servers leave the header of zlib out.
  deflate: (bytes, limit) => ((Number(bytes[0]) & 15) === 8 ? inflate : inflateRaw)(bytes, limit),
};

/**
 * Decompresses a body, which some servers and proxies compress although it was asked for as it is. `undefined`: it is larger
 * than `most` bytes.
 * @throws MarketgateError `unexpected_response` for what cannot be decompressed.
 */
async function decompress(name: string, body: Buffer, encoding: string, most: number) {
  // The longest that zlib allows is 4 GiB on Node.js 20.
  const limit = { maxOutputLength: Math.min(most, constants.MAX_LENGTH) };
  let bytes = body;
  try {
    // The last one was applied last.
    for (const coding of encoding.toLowerCase().split(',').reverse()) {
      const decode = DECODERS[coding.trim()];
      if (decode !== undefined && bytes.length > 0) bytes = await decode(bytes, limit);
    }
    return bytes;
  } catch (error) {
    if (Object(error).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
    throw refused(name, 'the answer is compressed, and broken or cut');
  }
}

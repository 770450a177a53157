import { subscribe } from 'node:diagnostics_channel';
import { type IncomingMessage, Server, type ServerResponse } from 'node:http';
import { SECRET_NAMES, type SecretKind, type Sweep } from './sweep.js';

/** What only a service is asked for; or, on any path, what the package's own clients ask. */
const SERVICE_PATH =
  /^\/(api\/(account\/details|items\/(all|item)|purchases\/validation|oauth|authorize|get_user_info)\b|sandbox\/|sandbox$)/i;
const PICTURE = /^(image|audio|video|font)\//;
const LONGEST = 256 * 1024;

const WORDS = SECRET_NAMES.join('|');
const IN_JSON = new RegExp(`\\\\?"(${WORDS})\\\\?"\\s*:\\s*\\\\?"([^"\\\\]+)`, 'g');
const IN_FORM = new RegExp(`(?:^|[?&])(${WORDS})=([^&\\s"]+)`, 'g');

/** Finds the secrets of a text by the names that stand before them, in JSON and in forms. */
export function collectFrom(text: string, sweep: Sweep): void {
  for (const [, name, value = ''] of text.matchAll(IN_JSON)) {
    sweep.secret(name as SecretKind, value);
  }
  for (const [, name, value = ''] of text.matchAll(IN_FORM)) {
    sweep.secret(name as SecretKind, decoded(value));
  }
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '));
  } catch {
    return value;
  }
}

/** The start of all that passes through a function for chunks, as text. */
class Tap {
  #parts: Buffer[] = [];
  #length = 0;

  take(chunk: unknown, encoding?: unknown): void {
    if (this.#length > LONGEST) return;
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    const known = typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8';
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, known) : Buffer.from(chunk);
    this.#parts.push(bytes);
    this.#length += bytes.length;
  }

  get text(): string {
    return Buffer.concat(this.#parts).toString();
  }
}

/**
 * Every HTTP server of this process: all requests are asked for secrets, and the answers of services
 * too; the answers of all other servers are what an app has let out.
 */
export function watchHttp(sweep: Sweep): void {
  const services = new WeakSet<Server>();
  const emit = Server.prototype.emit;
  let count = 0;

  function watch(server: Server, req: IncomingMessage, res: ServerResponse): void {
    const userAgent = req.headers['user-agent'] ?? '';
    const isService =
      SERVICE_PATH.test(req.url ?? '') ||
      userAgent.startsWith('marketgate/') ||
      server.listeners('request').some((listener) => sweep.services.has(listener));
    if (isService) services.add(server);
    sweep.secret('purchase_code', req.headers['x-purchase-code']);
    collectFrom(req.url ?? '', sweep);
    const sent = new Tap();
    const { push } = req;
    // What the parser pushes is seen here without reading it before the app does.
    req.push = (chunk: unknown, encoding?: BufferEncoding) => {
      sent.take(chunk, encoding);
      return push.call(req, chunk, encoding);
    };
    const answered = new Tap();
    const { write, end } = res;
    res.write = ((chunk: unknown, ...rest: unknown[]) => {
      answered.take(chunk, rest[0]);
      return Reflect.apply(write, res, [chunk, ...rest]);
    }) as typeof res.write;
    res.end = ((chunk?: unknown, ...rest: unknown[]) => {
      answered.take(chunk, rest[0]);
      return Reflect.apply(end, res, [chunk, ...rest]);
    }) as typeof res.end;
    res.once('close', () => {
      collectFrom(sent.text, sweep);
      if (services.has(server)) collectFrom(`${headOf(res)}\n${answered.text}`, sweep);
    });
    count++;
    sweep.out(`answer ${count}`, () => {
      const text = services.has(server) ? '' : `${headOf(res)}\n${bodyOf(res, answered)}`;
      const request = `${req.url} ${JSON.stringify(req.headers)}\n${sent.text}`;
      return { exit: 'answer', text, status: res.statusCode, request };
    });
  }

  Server.prototype.emit = function (this: Server, event: string, ...args: unknown[]): boolean {
    if (event === 'request') watch(this, args[0] as IncomingMessage, args[1] as ServerResponse);
    return Reflect.apply(emit, this, [event, ...args]);
  } as typeof emit;
}

/** The head as it was sent; `getHeaders` lacks what was given to `writeHead`. */
const headOf = (res: ServerResponse): string =>
  (res as { _header?: string | null })._header ?? JSON.stringify(res.getHeaders());

function bodyOf(res: ServerResponse, answered: Tap): string {
  const type = String(res.getHeader('content-type') ?? '');
  return PICTURE.test(type) ? '' : answered.text;
}

/**
 * Every request that a client of this process sends, also to a server of another process: undici tells
 * of each, the package's clients and Node's own fetch alike.
 */
export function watchRequests(sweep: Sweep): void {
  subscribe('undici:request:create', (message) => {
    const { request } = message as { request: { path?: unknown; body?: unknown } };
    if (typeof request.path === 'string') collectFrom(request.path, sweep);
    if (Buffer.isBuffer(request.body)) collectFrom(request.body.toString(), sweep);
  });
}

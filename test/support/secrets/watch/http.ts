import { subscribe } from 'node:diagnostics_channel';
import { type IncomingMessage, Server, type ServerResponse } from 'node:http';
import { LONGEST, SECRET_NAMES, type SecretKind, sweep } from './sweep.js';

/** What only a service is asked for; or, on any path, what the package's own clients ask. */
const SERVICE_PATH =
  /^\/(api\/(account\/details|items\/(all|item)|purchases\/validation|oauth|authorize|get_user_info)\b|sandbox\/|sandbox$)/i;
const PICTURE = /^(image|audio|video|font)\//;

const WORDS = SECRET_NAMES.join('|');
const IN_JSON = new RegExp(`\\\\?"(${WORDS})\\\\?"\\s*:\\s*\\\\?"([^"\\\\]+)`, 'g');
const IN_FORM = new RegExp(`(?:^|[?&])(${WORDS})=([^&\\s"]+)`, 'g');

/** Finds the secrets of a text by the names that stand before them, in JSON and in forms. */
function collectFrom(text: string): void {
  for (const [, name, value] of text.matchAll(IN_JSON)) sweep.secret(name as SecretKind, value);
  for (const [pair] of text.matchAll(IN_FORM)) {
    for (const [name, value] of new URLSearchParams(pair.replace(/^[?&]/, ''))) {
      sweep.secret(name as SecretKind, value);
    }
  }
}

/** The start of all chunks that these methods of a stream get, as text. */
function tap(stream: object, ...methods: string[]): () => string {
  let text = '';
  for (const method of methods) {
    const own = Reflect.get(stream, method);
    Reflect.set(stream, method, (chunk: unknown, ...rest: unknown[]) => {
      const isChunk = typeof chunk === 'string' || chunk instanceof Uint8Array;
      if (isChunk && text.length < LONGEST) text += Buffer.from(chunk as string).toString();
      return Reflect.apply(own, stream, [chunk, ...rest]);
    });
  }
  return () => text;
}

const services = new WeakSet<Server>();
let count = 0;

/** All requests are searched for secrets, and the answers of services too; other answers are what an app lets out. */
function watch(server: Server, req: IncomingMessage, res: ServerResponse): void {
  const isService =
    SERVICE_PATH.test(req.url ?? '') ||
    req.headers['user-agent']?.startsWith('marketgate/') ||
    server.listeners('request').some((listener) => sweep.services.has(listener));
  if (isService) services.add(server);
  sweep.secret('purchase_code', req.headers['x-purchase-code']);
  collectFrom(req.url ?? '');
  // What the parser pushes is seen here without reading it before the app does.
  const sent = tap(req, 'push');
  const body = tap(res, 'write', 'end');
  const answer = (): string => {
    // `getHeaders` lacks what was given to `writeHead`.
    const head = (res as { _header?: string | null })._header ?? JSON.stringify(res.getHeaders());
    return PICTURE.test(String(res.getHeader('content-type'))) ? head : `${head}\n${body()}`;
  };
  res.once('close', () => {
    collectFrom(sent());
    if (services.has(server)) collectFrom(answer());
  });
  count++;
  sweep.out('answer', `${count}`, () => ({
    text: services.has(server) ? '' : answer(),
    status: res.statusCode,
    request: `${req.url} ${JSON.stringify(req.headers)}\n${sent()}`,
  }));
}

const { emit } = Server.prototype;
Server.prototype.emit = function (this: Server, event: string, ...args: unknown[]): boolean {
  if (event === 'request') watch(this, args[0] as IncomingMessage, args[1] as ServerResponse);
  return Reflect.apply(emit, this, [event, ...args]);
} as typeof emit;

// Every request that a client of this process sends: undici tells of each, the package's clients and fetch alike.
subscribe('undici:request:create', (message) => {
  const { request } = message as { request: { path?: unknown; body?: unknown } };
  if (typeof request.path === 'string') collectFrom(request.path);
  if (Buffer.isBuffer(request.body)) collectFrom(request.body.toString());
});

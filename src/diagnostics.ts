import { channel, subscribe } from 'node:diagnostics_channel';
import { debuglog } from 'node:util';
import { LRUCache } from 'lru-cache';
import { isMarketgateError, type MarketgateErrorCode } from './errors.js';
import { helpFor } from './help.js';

/**
 * Names of query parameters, fields and headers whose values are secrets. The package's own messages contain
 * none of them, but instrumentations of HTTP record URLs, headers and bodies: redact these values in their
 * spans, events and log lines. Letter case does not count. Add the names that your own code sources read.
 */
export const SECRET_NAMES: readonly string[] = Object.freeze([
  'api_key',
  'app_secret',
  'auth_key',
  'access_token',
  'purchase_code',
  'x-purchase-code',
  // Logins, tokens of staff and of programs, and attempts to log in.
  'authorization',
  'cookie',
  'cookies',
  'set-cookie',
]);

/** Message of `marketgate:request`: one request to the service has ended. A retry is a separate request. */
export interface RequestMessage {
  /** The HTTP method. */
  readonly method: 'GET' | 'POST';
  /** The endpoint's path, as in the specification; without the query, which holds secrets. */
  readonly endpoint: string;
  /** 0 for the first, 1 for the first retry, and so on. */
  readonly attempt: number;
  /** The code of the error; absent when there was an answer, when the caller left before, and where the app's own `fetch` failed. */
  readonly code?: MarketgateErrorCode;
  /** Why there is no answer. */
  readonly reason?: string;
  /** The caller left before there was an answer; otherwise absent. */
  readonly aborted?: boolean;
  /** Milliseconds from sending to the parsed answer. */
  readonly durationMs: number;
}

// Publish only if `hasSubscribers`, so that unused channels cost nothing.
export const requestChannel = channel('marketgate:request');

/** Message of `marketgate:lookup`: a call of a `KeyApi` with a cache was answered or failed. */
export interface LookupMessage {
  /** The account, the list of items, one item, or the purchase of a code. */
  readonly what: 'account' | 'items' | 'item' | 'purchase';
  /**
   * Where the answer came from: `cache`; `stale`, a stale answer that is refreshed in the background;
   * `shared`, the shared cache; `service`; `stale-if-error`, a stale answer because the service failed.
   */
  readonly source: 'cache' | 'stale' | 'shared' | 'service' | 'stale-if-error';
  /** `positive` or `negative` as the answer, `failed` when there was none. */
  readonly outcome: 'positive' | 'negative' | 'failed';
  /** The code of the error, when it failed. */
  readonly code?: MarketgateErrorCode;
  /** Why it failed. */
  readonly reason?: string;
}

export const lookupChannel = channel('marketgate:lookup');

/** What a message says of an error. The words of an error of the app's can contain secrets. */
export const failedFor = (error: unknown): Pick<LookupMessage, 'code' | 'reason'> =>
  isMarketgateError(error)
    ? { code: error.code, reason: error.message }
    : { reason: "an error of the app's own" };

/** Message of `marketgate:guard`: `requirePurchase` let a request in or refused it. */
export interface GuardMessage {
  /** Whether the visitor was let in. */
  readonly allowed: boolean;
  /** The code of the refusal or the error; absent when the purchase is valid. */
  readonly code?: MarketgateErrorCode;
  /** The message of the refusal or the error. */
  readonly reason?: string;
  /** The HTTP method of the request. */
  readonly method?: string;
  /** The route as the app has written it, as in `/downloads/:id`; absent for a guard that is not in a route. */
  readonly route?: string;
}

export const guardChannel = channel('marketgate:guard');

/** Message of `marketgate:login`: one step of a login has ended. */
export interface LoginMessage {
  /** How the step ended; `ask` is the page of `confirm`. */
  readonly outcome: 'redirect' | 'success' | 'fail' | 'pass' | 'error' | 'ask';
  /** The code of the failure or the error, where it is known. */
  readonly code?: string;
  /** The message of the failure or the error, if it is one of this package, or the one that verify gave. */
  readonly reason?: string;
}

export const loginChannel = channel('marketgate:login');

/**
 * Message of `marketgate:drift`: an answer was not as documented, but could still be used. It contains the
 * place and never the value, which can be a secret. Each client sends the same message (endpoint, kind and
 * path, with any list index) once an hour.
 */
export interface DriftMessage {
  /** The endpoint's path, as in the specification. */
  readonly endpoint: string;
  /**
   * `coerced`: the value was coerced into the documented shape. `dropped`: it could not be, so the field or the
   * list element was left out. `unreadable`: it could not be, and stays as its text (`supported_until` of a purchase).
   */
  readonly kind: 'coerced' | 'dropped' | 'unreadable';
  /** The first place in the answer, as in `items[3].price.regular`. */
  readonly path: string;
  /** What was expected there, as in "number". */
  readonly expected: string;
}

/**
 * Message of `marketgate:drift` about a store. It never identifies the entry or its content. Each store sends
 * the same message once an hour. `endpoint` is the store and its method, as in `EncryptedTokenStore.get`.
 */
export interface StoreDriftMessage extends Omit<DriftMessage, 'kind'> {
  /**
   * `unreadable`: an entry is invalid, was tampered with, or cannot be decrypted; it counts as absent.
   * `not-counted`: a shared guess limit could not count a failed attempt, so each process counts separately.
   */
  readonly kind: 'unreadable' | 'not-counted';
}

export const driftChannel = channel('marketgate:drift');

/** The messages that each source has sent within the last hour. At most 1000, because a service can send any names. */
const sent = new WeakMap<object, LRUCache<string, true>>();
const perf = { now: () => performance.now() };

/**
 * Sends a message of `marketgate:drift`, unless `source` (a client or a store) has sent the same within the last hour.
 * Remembers nothing while the channel has no subscribers.
 */
export function reportDrift(source: object, message: DriftMessage | StoreDriftMessage): void {
  if (!driftChannel.hasSubscribers) return;
  const { endpoint, kind, path, expected } = message;
  const id = `${kind} ${endpoint} ${path.replace(/\[\d+\]/g, '[]')} ${expected}`;
  const known = sent.get(source) ?? new LRUCache({ max: 1000, ttl: 3_600_000, perf });
  sent.set(source, known);
  if (known.has(id)) return;
  known.set(id, true);
  driftChannel.publish(message);
}

/** Reports an entry of a store. @param expected what was expected instead. */
export function reportUnreadable(store: object, endpoint: string, expected: string): void {
  reportDrift(store, { endpoint, kind: 'unreadable', path: 'value', expected });
}

/** Mistakes in an app's setup that cause no error. Each warning is emitted once per process. */
export const WARNINGS = {
  MARKETGATE_UNEXPECTED_X_FORWARDED_FOR:
    'a request came with X-Forwarded-For, but Express\'s "trust proxy" is not set: all visitors behind the proxy count as one for the guess limit; set app.set("trust proxy", …) to what stands in front of the app',
  MARKETGATE_PERMISSIVE_TRUST_PROXY:
    'Express\'s "trust proxy" is true: anybody can choose the address that the guess limit counts; set it to the number or the addresses of your proxies',
  MARKETGATE_SHARED_CLIENT_ADDRESS:
    'requests of one address (req.ip) came with three others in X-Forwarded-For: if that address is a proxy\'s, all visitors behind it count as one for the guess limit; set Express\'s "trust proxy" to the number of proxies in front of the app, or to their addresses',
  MARKETGATE_NO_CLIENT_ADDRESS:
    'a request has no address (req.ip and that of its socket are undefined), so all visitors count as one for the guess limit; tell Express which proxy it can trust, or give the guard a "client"',
  MARKETGATE_CREATED_IN_HANDLER:
    'a guard was made inside a request handler: its options are checked for each request, and unless it is called with (req, res, next) it protects nothing; make it once, when the app starts',
  MARKETGATE_NO_BODY_PARSER:
    'the purchase code is looked for in req.body, but no body parser has read this body into fields; put the parser for its Content-Type before the guard, such as express.urlencoded() or express.json()',
  MARKETGATE_CODE_NOT_TEXT:
    'a purchase code came as several values, or as something that is no text, so it is invalid; send one field with the code as text',
  MARKETGATE_NO_SESSION:
    'the purchase code is looked for in req.session, but there is none; put the session middleware before the guard',
  MARKETGATE_NO_PASSPORT_SESSION:
    'the session has a logged-in user, but the request has none, so a guard sends the user to the login; put app.use(passport.session()) above the guard',
  MARKETGATE_GUESSES_NOT_SHARED:
    'the limit that processes share could not count a failed attempt, so each process counts for itself; look at what it counts in: the connection, and with Redis whether this user may run scripts (EVAL)',
  MARKETGATE_CACHE_NOT_SHARED:
    'a call to the shared cache has failed, so for a second this process is on its own: it asks the service itself, and hears of refunds later; look at Redis, the connection and how far away it is',
  MARKETGATE_REDIS_REFUSES:
    'Redis answers, and refuses what a store asks of it; look at the permissions of this Redis user, its memory and whether it is a replica',
  MARKETGATE_NO_INVALIDATIONS:
    'this process gets no messages about refunds from the others, so each lookup asks Redis first; look at the "subscriber" of RedisCache, and whether this Redis user may use its channels',
  MARKETGATE_NO_CATALOGUE:
    'the list of all items cannot be had, so getItem asks for each item by itself, which costs one request each; after a minute it tries the list again',
  MARKETGATE_REFRESH_FAILED:
    'a cached answer could not be renewed, and not because of an outage; it is served while it is stale, so customers notice only later',
  MARKETGATE_HOLDERS_IN_MEMORY:
    'a MemoryHolderStore was made in production: a restart forgets who holds which purchase code, and each process has its own record; use a RedisHolderStore, or a store on your database',
} as const;

/** The code of a warning, as in `npx marketgate explain CODE`. */
export type WarningCode = keyof typeof WARNINGS;

// A process can load several copies of the package; they share this set.
const EMITTED = Symbol.for('marketgate.warnings');

/** Emits a process warning, unless it was emitted before. @param what follows its text: what this process has seen. */
export function warnOnce(code: WarningCode, what = ''): void {
  const shared = globalThis as { [EMITTED]?: Set<string> };
  shared[EMITTED] ??= new Set();
  if (shared[EMITTED].has(code)) return;
  shared[EMITTED].add(code);
  process.emitWarning(`${WARNINGS[code]}${what} (${helpFor(code)})`, {
    type: 'MarketgateWarning',
    code,
  });
}

const LOGIN_WORDS: Readonly<Record<LoginMessage['outcome'], string>> = {
  redirect: 'the browser was sent on',
  ask: 'the visitor is asked whether to continue',
  success: 'the user is logged in',
  pass: 'no login: a logged-in browser opened the callback again',
  fail: 'failed',
  error: 'ended with an error',
};
const SOURCE_WORDS: Readonly<Record<LookupMessage['source'], string>> = {
  cache: 'from the cache',
  stale: 'from the cache; it is stale, and refreshed behind this request',
  shared: 'from the shared cache',
  service: 'from the marketplace',
  'stale-if-error': 'from the cache; it is stale, and the marketplace could not be asked',
};

/** What a message of each channel says, in one line. */
const LINES = {
  request: ({ method, endpoint, attempt, code, reason, aborted, durationMs }: RequestMessage) =>
    `${method} ${endpoint}${attempt > 0 ? `, retry ${attempt}` : ''}: ${aborted ? 'aborted' : (code ?? (reason ? 'failed' : 'answered'))} after ${Math.round(durationMs)} ms${because(reason)}`,
  lookup: ({ what, source, outcome, code, reason }: LookupMessage) =>
    outcome === 'failed'
      ? `${what}: no answer${code ? `, ${code}` : ''}${because(reason)}`
      : `${what}: ${outcome} answer ${SOURCE_WORDS[source]}`,
  guard: ({ allowed, code, method, route, reason }: GuardMessage) =>
    `${[method, route].filter(Boolean).join(' ') || 'guard'}: ${allowed ? 'let in' : 'refused'}${code ? `, ${code}` : ''}${because(reason)}`,
  login: ({ outcome, code, reason }: LoginMessage) =>
    `login: ${LOGIN_WORDS[outcome]}${code ? `, ${code}` : ''}${because(reason)}`,
  drift: ({ endpoint, kind, path, expected }: DriftMessage | StoreDriftMessage) =>
    `${endpoint}: ${path} is ${kind}, expected ${expected}`,
};

const because = (reason: string | undefined): string => (reason ? `: ${reason}` : '');

// A process can load several copies of the package, which publish on the same channels: one of them prints.
const PRINTED = Symbol.for('marketgate.printed');

/** Prints the messages of all channels in plain lines, where `NODE_DEBUG` names the package. */
export function printUnderNodeDebug(): void {
  const log = debuglog('marketgate');
  if (!log.enabled || PRINTED in globalThis) return;
  Object.assign(globalThis, { [PRINTED]: true });
  for (const [name, lineOf] of Object.entries(LINES)) {
    subscribe(`marketgate:${name}`, (message) => log('%s', lineOf(message as never)));
  }
}

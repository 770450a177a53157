import { channel } from 'node:diagnostics_channel';
import type { MarketgateErrorCode } from './errors.js';

const HOUR = 3_600_000;
/** The most kinds that are remembered, because a service can send any number of names. */
const MOST_KINDS = 1000;

/** Lets each kind of message through once an hour, so that listeners are not flooded. */
export class Hourly {
  readonly #clock: () => number;
  /** When each kind was sent last, the oldest first. */
  readonly #sentAt = new Map<string, number>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Whether this kind is due; if so, it is marked as sent. Call it only if the channel has subscribers. */
  isDue(kind: string): boolean {
    const now = this.#clock();
    const last = this.#sentAt.get(kind);
    // A time in the future comes from before the clock was set back.
    if (last !== undefined && last <= now && now - last < HOUR) return false;
    this.#sentAt.delete(kind);
    this.#sentAt.set(kind, now);
    if (this.#sentAt.size > MOST_KINDS) {
      const [oldest = kind] = this.#sentAt.keys();
      this.#sentAt.delete(oldest);
    }
    return true;
  }
}

/** Message of `marketgate:request`: one request to the service has ended. A retry is a separate request. */
export interface RequestMessage {
  /** The HTTP method. */
  readonly method: 'GET' | 'POST';
  /** The endpoint's path, as in the specification; without the query, which holds secrets. */
  readonly endpoint: string;
  /** 0 for the first, 1 for the first retry, and so on. */
  readonly attempt: number;
  /** The code of the error; absent when there was an answer. */
  readonly code?: MarketgateErrorCode;
  /** Milliseconds from sending to the parsed answer. */
  readonly durationMs: number;
}

// Publish only if `hasSubscribers`, so that unused channels cost nothing.
export const requestChannel = channel('marketgate:request');

/** Message of `marketgate:lookup`: a call of `KeyApi` was answered or failed. */
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
}

export const lookupChannel = channel('marketgate:lookup');

/** Message of `marketgate:guard`: `requirePurchase` let a request in or refused it. */
export interface GuardMessage {
  /** Whether the visitor was let in. */
  readonly allowed: boolean;
  /** The code of the refusal or the error; absent when the purchase is valid. */
  readonly code?: MarketgateErrorCode;
}

export const guardChannel = channel('marketgate:guard');

/** Message of `marketgate:login`: one step of a login has ended. */
export interface LoginMessage {
  /** How the step ended; `ask` is the page of `confirm`. */
  readonly outcome: 'redirect' | 'success' | 'fail' | 'pass' | 'error' | 'ask';
  /** The code of the failure or the error, where it is known. */
  readonly code?: string;
  /** The message of the failure or the error, if it is one of this package. */
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
   * list element was left out.
   */
  readonly kind: 'coerced' | 'dropped';
  /** The first place in the answer, as in `items[3].price.regular`. */
  readonly path: string;
  /** What was expected there, as in "number". */
  readonly expected: string;
}

const drift = channel('marketgate:drift');

/** Sends one client's messages of `marketgate:drift`. Remembers nothing while there are no subscribers. */
export class DriftReports {
  readonly #hourly: Hourly;

  constructor(clock: () => number) {
    this.#hourly = new Hourly(clock);
  }

  report(message: DriftMessage): void {
    if (!drift.hasSubscribers) return;
    const { endpoint, kind, path, expected } = message;
    const place = path.replace(/\[\d+\]/g, '[]');
    if (this.#hourly.isDue(`${endpoint} ${kind} ${place} ${expected}`)) drift.publish(message);
  }
}

/**
 * Message of `marketgate:drift` about a store. It never identifies the entry or its content. Each store sends
 * the same message once an hour.
 */
export interface StoreDriftMessage extends Omit<DriftMessage, 'kind'> {
  /** The store and its method, as in `EncryptedTokenStore.get`. */
  readonly endpoint: string;
  /**
   * `unreadable`: an entry is invalid, was tampered with, or cannot be decrypted; it counts as absent.
   * `not-counted`: Redis could not count a failed attempt, so each process counts separately.
   */
  readonly kind: 'unreadable' | 'not-counted';
}

const hourlyOf = new WeakMap<object, Hourly>();

/**
 * @param store the store that has the entry.
 * @param expected what was expected instead, for the message.
 */
export function reportUnreadable(store: object, endpoint: string, expected: string): void {
  report(store, { endpoint, kind: 'unreadable', path: 'value', expected });
}

/** @param limit the guess limit that could not count. */
export function reportNotCounted(limit: object, endpoint: string): void {
  const expected = 'a Redis that can be written to and runs scripts (EVAL)';
  report(limit, { endpoint, kind: 'not-counted', path: 'count', expected });
}

function report(store: object, message: StoreDriftMessage): void {
  if (!drift.hasSubscribers) return;
  let hourly = hourlyOf.get(store);
  if (hourly === undefined) {
    // Not every store has a clock.
    hourly = new Hourly(() => Date.now());
    hourlyOf.set(store, hourly);
  }
  if (hourly.isDue(message.endpoint)) drift.publish(message);
}

/** Mistakes in an app's setup that cause no error. Each warning is emitted once per process. */
export const WARNINGS = {
  MARKETGATE_UNEXPECTED_X_FORWARDED_FOR:
    'a request came with X-Forwarded-For, but Express\'s "trust proxy" is not set: all visitors behind the proxy count as one for the guess limit; set app.set("trust proxy", …) to what stands in front of the app',
  MARKETGATE_PERMISSIVE_TRUST_PROXY:
    'Express\'s "trust proxy" is true: anybody can choose the address that the guess limit counts; set it to the number or the addresses of your proxies',
  MARKETGATE_CREATED_IN_HANDLER:
    'a guard was made inside a request handler: its options are checked for each request, and a guess limit of its own forgets every count; make it once, when the app starts',
  MARKETGATE_NO_BODY_PARSER:
    'the purchase code is looked for in req.body, but no body parser has run; put express.urlencoded() or express.json() before the guard',
  MARKETGATE_NO_SESSION:
    'the purchase code is looked for in req.session, but there is none; put the session middleware before the guard',
  MARKETGATE_GUESSES_NOT_SHARED:
    'Redis could not count failed attempts, so each process counts for itself; look at the connection, and whether this Redis user may run scripts (EVAL)',
} as const;

/** The code of a warning, as in `npx marketgate explain CODE`. */
export type WarningCode = keyof typeof WARNINGS;

// A process can load both builds of the package, and several versions; they share this set.
const GIVEN = Symbol.for('marketgate.warnings');

/** Emits a process warning, unless it was emitted before. */
export function warnOnce(code: WarningCode): void {
  const shared = globalThis as { [GIVEN]?: Set<string> };
  shared[GIVEN] ??= new Set();
  if (shared[GIVEN].has(code)) return;
  shared[GIVEN].add(code);
  process.emitWarning(`${WARNINGS[code]} (npx marketgate explain ${code})`, {
    type: 'MarketgateWarning',
    code,
  });
}

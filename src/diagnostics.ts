import { channel } from 'node:diagnostics_channel';
import type { MarketgateErrorCode } from './errors.js';

const HOUR = 3_600_000;
/** The most kinds that are remembered: a service that makes up names must not fill the memory. */
const MOST = 1000;

/** Lets each kind of message through once an hour, so that listeners are not flooded. */
export class Hourly {
  readonly #clock: () => number;
  /** When each kind was sent last, the oldest first. */
  readonly #last = new Map<string, number>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Whether this kind is due; if so, it is marked as sent. Call it only when somebody listens. */
  isDue(kind: string): boolean {
    const now = this.#clock();
    const last = this.#last.get(kind);
    // Ahead of now by a clock that was set back: not to be trusted.
    if (last !== undefined && last <= now && now - last < HOUR) return false;
    this.#last.delete(kind);
    this.#last.set(kind, now);
    if (this.#last.size > MOST) {
      const [oldest = kind] = this.#last.keys();
      this.#last.delete(oldest);
    }
    return true;
  }
}

/** Message of `marketgate:request`: one request to the service has ended. Each retry is a request. */
export interface RequestMessage {
  /** As in the specification, or as `validationEncoding` and `authorizeMethod` have it. */
  readonly method: 'GET' | 'POST';
  /** The endpoint's path, as in the specification; without the query, which holds secrets. */
  readonly endpoint: string;
  /** 0 for the first, 1 for the first retry, and so on. */
  readonly attempt: number;
  /** The code of the error that it ended in; absent when there was an answer. */
  readonly code?: MarketgateErrorCode;
  /** Milliseconds from sending to the parsed answer. */
  readonly durationMs: number;
}

/** Publish only where `hasSubscribers`: then it costs nothing when nobody listens. */
export const requestChannel = channel('marketgate:request');

/** Message of `marketgate:lookup`: the key API was asked, or its cache. */
export interface LookupMessage {
  /** The account, the list of items, one item, or the purchase of a code. */
  readonly what: 'account' | 'items' | 'item' | 'purchase';
  /**
   * Where the answer came from: `cache`; `stale`, the cache, which refreshes it in the background;
   * `shared`, the shared cache; `service`; `last-resort`, an old positive answer in an outage.
   */
  readonly source: 'cache' | 'stale' | 'shared' | 'service' | 'last-resort';
  /** `yes` for a positive answer, `no` for a negative one, `failed` when there was none. */
  readonly outcome: 'yes' | 'no' | 'failed';
  /** The code of the error, when it failed. */
  readonly code?: MarketgateErrorCode;
}

/** Publish only where `hasSubscribers`: then it costs nothing when nobody listens. */
export const lookupChannel = channel('marketgate:lookup');

/** Message of `marketgate:guard`: `requirePurchase` has decided about a request. */
export interface GuardMessage {
  /** Whether the visitor was let in. */
  readonly allowed: boolean;
  /** The refusal or the error; absent when the purchase is valid. */
  readonly code?: MarketgateErrorCode;
}

/** Publish only where `hasSubscribers`: then it costs nothing when nobody listens. */
export const guardChannel = channel('marketgate:guard');

/** Message of `marketgate:login`: the strategy has ended one step of a login. */
export interface LoginMessage {
  /** What it ended in; `ask` is the page of `confirm`. */
  readonly outcome: 'redirect' | 'success' | 'fail' | 'pass' | 'error' | 'ask';
  /** Why it failed, where that is known: the code of the failure or of the error. */
  readonly code?: string;
  /** The message of this package's own failures and errors: why, and what to do. */
  readonly reason?: string;
}

/** Publish only where `hasSubscribers`: then it costs nothing when nobody listens. */
export const loginChannel = channel('marketgate:login');

/**
 * Message of `marketgate:drift`: the service answered otherwise than documented, and the answer could
 * still be used. It says where, never what: values can be secret. Each client sends a kind (the same
 * endpoint, kind and path, whichever element of a list it was) once an hour.
 */
export interface DriftMessage {
  /** The endpoint's path, as in the specification. */
  readonly endpoint: string;
  /**
   * `mended`: read into the documented shape. `dropped`: left out, because it cannot be read; an element of a
   * list, or a field that may be absent.
   */
  readonly kind: 'mended' | 'dropped';
  /** Where in the answer, as in `items[3].price.regular`: the first place where it was seen. */
  readonly path: string;
  /** What was expected there, in words. */
  readonly expected: string;
}

const drift = channel('marketgate:drift');

/** What one client reports on `marketgate:drift`. Nothing is remembered while nobody listens. */
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
 * Message of `marketgate:drift` about a store. Names the store, never the row: neither what it held nor
 * whose it was. Each store reports a kind once an hour.
 */
export interface StoreDriftMessage extends Omit<DriftMessage, 'kind'> {
  /** The store and its method, as in `EncryptedTokenStore.get`. */
  readonly endpoint: string;
  /**
   * `unreadable`: what was stored makes no sense, was tampered with, or no key opens it; it counts as
   * absent. `not-counted`: Redis could not count a failed attempt, so each process counts alone.
   */
  readonly kind: 'unreadable' | 'not-counted';
}

const hourlyOf = new WeakMap<object, Hourly>();

/**
 * @param store whose row it is.
 * @param expected what should have been there, in words.
 */
export function reportUnreadable(store: object, endpoint: string, expected: string): void {
  report(store, { endpoint, kind: 'unreadable', path: 'value', expected });
}

/** @param limit that could not count. */
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

/** Mistakes of a setup that nothing else shows: each is warned of once per process. */
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

// The two builds of the package, and two versions of it, are one process: each warns for all of them.
const GIVEN = Symbol.for('marketgate.warnings');

/** Emits a process warning, unless this process has had it. */
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

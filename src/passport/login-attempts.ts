import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseCookie } from 'cookie';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import {
  clearCookie,
  isSecure,
  MAX_COOKIE,
  requiredResponse,
  setCookie,
} from '../express/plain-http.js';
import { LOGIN_LIFETIME } from '../express/return-to.js';
import { callSession, type Session, sessionOf } from '../express/session.js';
import type { GuardedTokenStore } from '../stores/token-store.js';

/** A login that has begun in a browser and has not ended. */
export interface LoginAttempt {
  /** Random; a deployment that echoes `state` sends it back. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Where the visitor wants to go after the login: a path on this site. */
  readonly returnTo?: string | undefined;
  /** Neither a page of this site nor the visitor began it: see `confirm: 'auto'`. */
  readonly isForeign?: true | undefined;
  /** Its auth_key has been exchanged, and the login waits for the visitor's "Continue". */
  readonly isConfirmation?: true;
}

/**
 * How far ahead an attempt can start, in milliseconds: the callback can reach another process than the one
 * that began the login, and their clocks can differ by this much.
 */
const CLOCK_SKEW = 5 * 60_000;
/** A browser can have several at once, one per tab. A further one replaces the oldest. */
const MAX_ATTEMPTS = 5;

/** Where the attempts of a browser are stored. */
export interface AttemptStorage {
  /** Gives what is stored, which need not be valid. */
  read(req: Request): unknown;
  /** Replaces the browser's attempts. Settles when they are saved. */
  write(req: Request, attempts: readonly LoginAttempt[]): Promise<void>;
}

/**
 * The login attempts of each browser. The service echoes no `state`, so only an attempt shows that this
 * browser began the login of a callback.
 */
export function loginAttempts(storage: AttemptStorage, claims: Claims, clock: () => number) {
  function current(req: Request): LoginAttempt[] {
    const now = clock();
    return [storage.read(req)]
      .flat()
      .filter(isAttempt)
      .filter(({ startedAt }) => startedAt <= now + CLOCK_SKEW)
      .filter(({ startedAt }) => now - startedAt < LOGIN_LIFETIME);
  }

  /** The attempts of this browser that a callback can use, the newest last. With an id, only that one. */
  const listOpen = (req: Request, id?: string) =>
    current(req).filter(
      (attempt) => !attempt.isConfirmation && (id === undefined || attempt.id === id),
    );

  /** Whether this browser holds the attempt, and it waits for "Continue". */
  const hasConfirmation = (req: Request, id: string) =>
    current(req).some((attempt) => attempt.isConfirmation && attempt.id === id);

  const remove = (req: Request, id: string) =>
    storage.write(
      req,
      current(req).filter((attempt) => attempt.id !== id),
    );

  return {
    listOpen,
    hasConfirmation,

    /** Whether `take` would find an attempt, as far as this process knows. */
    canTake: (req: Request, id: string | undefined) =>
      listOpen(req, id).some((attempt) => claims.find(attempt.id) === undefined),

    async begin(
      req: Request,
      about: Omit<LoginAttempt, 'id' | 'startedAt'>,
    ): Promise<LoginAttempt> {
      const id = randomBytes(16).toString('base64url');
      const attempt = { id, startedAt: clock(), ...about };
      await storage.write(req, [...current(req), attempt].slice(-MAX_ATTEMPTS));
      return attempt;
    },

    /**
     * Takes the attempt of a callback from the browser, for a single use. Takes the attempt with this id,
     * which a deployment has echoed; without an id the newest, because the service accepts only the newest
     * auth_key of a user.
     */
    async take(req: Request, id: string | undefined): Promise<LoginAttempt | undefined> {
      for (;;) {
        const attempt = listOpen(req, id).at(-1);
        if (attempt === undefined) return undefined;
        await remove(req, attempt.id);
        // Concurrent callbacks can find the same attempt, and a browser can send an old cookie again. Only
        // the first claim succeeds; the others try the next attempt.
        if (await claims.claim(attempt.id)) return attempt;
      }
    },

    /** Takes the attempt that waits for "Continue". @returns false when this browser does not hold it. */
    async takeConfirmation(req: Request, id: string): Promise<boolean> {
      if (!hasConfirmation(req, id)) return false;
      await remove(req, id);
      return true;
    },

    /** Ends all attempts of this browser, also for an old cookie that still has them. */
    async endAll(req: Request): Promise<void> {
      await Promise.all(current(req).map(({ id }) => claims.claim(id).catch(() => false)));
      await storage.write(req, []);
    },
  };
}

/** Whether a text has the form of an attempt's id: 16 random bytes as base64url. */
export const isAttemptId = (text: string): boolean => /^[\w-]{22}$/.test(text);

function isAttempt(value: unknown): value is LoginAttempt {
  const attempt = value as Partial<LoginAttempt> | null | undefined;
  return typeof attempt?.id === 'string' && Number.isFinite(attempt.startedAt);
}

/** Stores attempts in the session. @param scope keeps the strategies of one app apart. */
export function attemptsInSession(scope: string): AttemptStorage {
  const key = `marketgate:attempts:${scope}`;
  return {
    read: (req) => requiredSession(req)[key],
    async write(req, attempts) {
      const session = requiredSession(req);
      if (attempts.length > 0) session[key] = attempts;
      else if (session[key] === undefined) return;
      else delete session[key];
      await callSession(session, 'save');
    },
  };
}

function requiredSession(req: Request): Session {
  const session = sessionOf(req);
  if (session !== undefined) return session;
  throw new Error(
    'MarketplaceStrategy: this request has no session; put app.use(session({ … })) of express-session before passport, on the callback too, or use loginAttempts: { cookieSecret: [ … ] }',
  );
}

/**
 * Stores attempts in one signed cookie, for apps without sessions. The cookie is HttpOnly and
 * SameSite=Lax, so that the browser sends it when the service redirects back. Over https its name has the
 * prefix `__Host-`, so that no other host of the domain can set it.
 *
 * @param secrets the first signs, all verify; not empty.
 * @param scope keeps the strategies of one app apart, in the cookie's name and in its signature.
 */
export function attemptsInCookie(secrets: readonly string[], scope: string): AttemptStorage {
  const keys = secrets.map((secret) =>
    hash('sha256', `marketgate login attempts ${scope} ${secret}`, 'buffer'),
  );
  const nameFor = (req: Request) => `${isSecure(req) ? '__Host-' : ''}marketgate.login.${scope}`;
  const signWith = (key: Buffer, payload: string) =>
    `${payload}.${createHmac('sha256', key).update(payload).digest('base64url')}`;
  // For later reads in the same request, whose header still has the old cookie.
  const written = new WeakMap<Request, readonly LoginAttempt[]>();

  function sign(attempts: readonly LoginAttempt[]): string {
    const payload = Buffer.from(JSON.stringify(attempts)).toString('base64url');
    const signed = signWith(keys[0] as Buffer, payload);
    if (signed.length <= MAX_COOKIE) return signed;
    // Long paths in several tabs: drops the oldest attempt, or the path of the only one.
    const [first, ...rest] = attempts;
    return sign(rest.length > 0 ? rest : [{ ...(first as LoginAttempt), returnTo: undefined }]);
  }

  return {
    read(req) {
      const known = written.get(req);
      if (known !== undefined) return known;
      const cookie = parseCookie(req.headers.cookie ?? '')[nameFor(req)] ?? '';
      const payload = cookie.replace(/\..*/s, '');
      const given = Buffer.from(cookie);
      const isOurs = keys.some((key) => {
        const expected = Buffer.from(signWith(key, payload));
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
      return isOurs ? JSON.parse(Buffer.from(payload, 'base64url').toString()) : undefined;
    },
    async write(req, attempts) {
      const res = requiredResponse(req);
      written.set(req, attempts);
      if (attempts.length === 0) clearCookie(req, res, nameFor(req));
      else setCookie(req, res, nameFor(req), sign(attempts), LOGIN_LIFETIME);
    },
  };
}

/** How long a claim is remembered, in milliseconds. The service refuses a used auth_key for ever. */
const CLAIM_LIFETIME = 3_600_000;

/** What a claim remembers about an auth_key. Claims of attempts remember nothing. */
export interface ClaimRecord {
  /** The `returnTo` of its login. A reload of the callback leads there too. */
  readonly returnTo?: string | undefined;
}

/**
 * Lets each auth_key and each attempt be used once: in this process, and in the fleet if the token store
 * has `claim`. Only hashes are stored.
 *
 * @param scope keeps strategies that share a token store apart.
 */
export function claimsIn(store: GuardedTokenStore | undefined, scope: string) {
  const known = new LRUCache<string, ClaimRecord>({ max: 10_000 });
  const nameOf = (key: string) => `used:${hash('sha256', `${scope} ${key}`, 'base64url')}`;
  return {
    /** What this process remembers about a key; `undefined` for a key that was not used here. */
    find: (key: string) => known.get(nameOf(key)),

    /** Changes what {@link find} gives for a claimed key. */
    remember(key: string, record: ClaimRecord): void {
      known.set(nameOf(key), record);
    },

    /** True for the first caller. */
    async claim(key: string, record: ClaimRecord = {}): Promise<boolean> {
      const name = nameOf(key);
      if (known.has(name)) return false;
      known.set(name, record);
      try {
        return (await store?.claim(name, CLAIM_LIFETIME)) ?? true;
      } catch (error) {
        // A retry asks the store again, which can have the claim all the same.
        known.delete(name);
        throw error;
      }
    },
  };
}

type Claims = ReturnType<typeof claimsIn>;

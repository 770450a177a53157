import { createHash } from 'node:crypto';
import { type AccessToken, isAccessToken } from '../model/access-token.js';

/** Ids that go into the key as they are. */
const PLAIN = /^[a-z0-9_]{1,64}$/;

/**
 * The key of a user's token. An id with anything else in it is hashed, because backends differ: MySQL
 * compares capitals and small letters as equal, Memcached refuses blanks and long keys, PostgreSQL cuts
 * at 255, Keyv 6 strips what could be code. `~` keeps hashes and ids apart.
 */
export function keyOf(prefix: string, userId: string): string {
  if (PLAIN.test(userId)) return prefix + userId;
  return `${prefix}~${createHash('sha256').update(userId).digest('hex')}`;
}

/** A token as it is stored: versioned, and with its user, so that it serves nobody else. */
export function encodeToken(userId: string, token: AccessToken): string {
  const { value, issuedAt, expiresAt } = token;
  return JSON.stringify({ v: 1, user: userId, value, issuedAt, expiresAt });
}

/** The token in a stored value, or `undefined` when there is none in it, or another user's. */
export function decodeToken(userId: string, stored: unknown): AccessToken | undefined {
  if (typeof stored !== 'string') return undefined;
  let row: unknown;
  try {
    row = JSON.parse(stored);
  } catch {
    return undefined;
  }
  const { v, user } = (row ?? {}) as { v?: unknown; user?: unknown };
  if (v !== 1 || user !== userId || !isAccessToken(row)) return undefined;
  const { value, issuedAt, expiresAt } = row;
  return { value, issuedAt, expiresAt };
}

/** @throws TypeError that names the store. */
export function checkToken(owner: string, token: unknown): void {
  if (!isAccessToken(token)) throw new TypeError(`${owner}.set: "token" must be an AccessToken`);
}

/**
 * A claim whose `ttl` is no number would end at once, and an auth_key could be spent twice, or it would
 * never end.
 *
 * @throws TypeError that names the store.
 */
export function checkClaim(owner: string, ttl: unknown): void {
  if (Number.isFinite(ttl) && Number(ttl) > 0) return;
  throw new TypeError(`${owner}: the "ttl" of a claim must be a positive number (milliseconds)`);
}

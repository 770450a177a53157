import { isObject } from './fields.js';

/** An access_token and its lifetime (specification: "Limits", 1 hour). */
export interface AccessToken {
  /** The token itself: a secret. */
  value: string;
  /** When it was requested, in epoch milliseconds: not later than the service issued it. */
  issuedAt: number;
  /** When it expires, in epoch milliseconds. The service can end it earlier. */
  expiresAt: number;
}

/** A copy of a token, which can come from an app's own store; `undefined` if the value is not a token. */
export function readAccessToken(token: unknown): AccessToken | undefined {
  if (!isObject(token)) return undefined;
  const { value, issuedAt, expiresAt } = token;
  if (typeof value !== 'string' || value === '') return undefined;
  if (typeof issuedAt !== 'number' || typeof expiresAt !== 'number') return undefined;
  return Number.isFinite(issuedAt + expiresAt) ? { value, issuedAt, expiresAt } : undefined;
}

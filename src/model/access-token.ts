/** An access_token and its lifetime (specification: "Limits", 1 hour). */
export interface AccessToken {
  /** The token itself: a secret. */
  value: string;
  /** When it was requested, in epoch milliseconds: not later than the service issued it. */
  issuedAt: number;
  /** When it expires, in epoch milliseconds. The service can end it earlier. */
  expiresAt: number;
}

/** Whether `value` has the shape of an {@link AccessToken}. It can come from an app's own store. */
export function isAccessToken(value: unknown): value is AccessToken {
  const token = value as Partial<AccessToken> | null | undefined;
  return (
    typeof token?.value === 'string' &&
    token.value !== '' &&
    Number.isFinite(token.issuedAt) &&
    Number.isFinite(token.expiresAt)
  );
}

/** An access_token of interface B, and how long it lives (specification: "Limits", 1 hour). */
export interface AccessToken {
  /** The token itself: a secret. */
  value: string;
  /** When it was asked for, in epoch milliseconds: not later than the service made it. */
  issuedAt: number;
  /** When it ends, in epoch milliseconds. The service may end it earlier. */
  expiresAt: number;
}

/** Whether `value` is an {@link AccessToken} by its shape: it may come out of somebody's store. */
export function isAccessToken(value: unknown): value is AccessToken {
  const token = value as Partial<AccessToken> | null | undefined;
  return (
    typeof token?.value === 'string' &&
    token.value !== '' &&
    Number.isFinite(token.issuedAt) &&
    Number.isFinite(token.expiresAt)
  );
}

import * as z from 'zod/mini';

/** An access_token and its lifetime (specification: "Limits", 1 hour). */
export interface AccessToken {
  /** The token itself: a secret. */
  value: string;
  /** When it was requested, in epoch milliseconds: not later than the service issued it. */
  issuedAt: number;
  /** When it expires, in epoch milliseconds. The service can end it earlier. */
  expiresAt: number;
}

const schema: z.ZodMiniType<AccessToken> = z.object({
  value: z.string().check(z.minLength(1)),
  issuedAt: z.number(),
  expiresAt: z.number(),
});

/** A copy of a token, which can come from an app's own store; `undefined` if the value is not a token. */
export const readAccessToken = (value: unknown): AccessToken | undefined =>
  schema.safeParse(value).data;

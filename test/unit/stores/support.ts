import type { AccessToken, TokenStore } from 'marketgate';

/** An access_token that can be searched for wherever it must not be. */
export const SECRET = 'SENTINEL-token-7f3a91c2';

export const NOW = 1_800_000_000_000;
export const HOUR = 3_600_000;

export const tokenOf = (value: string = SECRET, issuedAt = NOW): AccessToken => ({
  value,
  issuedAt,
  expiresAt: issuedAt + HOUR,
});

/** A store on a `Map` that forgets nothing; tests break its methods one by one. */
export class PlainStore implements TokenStore {
  readonly rows = new Map<string, AccessToken>();

  async get(userId: string): Promise<AccessToken | undefined> {
    return this.rows.get(userId);
  }

  async set(userId: string, token: AccessToken): Promise<void> {
    this.rows.set(userId, token);
  }

  async delete(userId: string): Promise<void> {
    this.rows.delete(userId);
  }
}

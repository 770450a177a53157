import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SandboxClock } from '../clock.js';
import type { SandboxDialect } from '../switches.js';

export interface Credential {
  readonly value: string;
  readonly appId: string;
  readonly userId: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** The auth_keys and access_tokens of one sandbox (spec, "States and transitions"). */
export function createCredentials(clock: SandboxClock, dialect: SandboxDialect) {
  /** By app and user: a new auth_key replaces the older one. Each is valid until its first use. */
  const authKeys = new Map<string, Omit<Credential, 'expiresAt'>>();
  /** A sandbox that runs for weeks must not grow for ever. */
  const tokens = new LRUCache<string, Credential>({ max: 10_000 });
  const isLive = ({ expiresAt }: Credential): boolean => clock.now() < expiresAt;

  const issueToken = (appId: string, userId: string): string => {
    for (const token of dialect.tokenReuse ? tokens.values() : []) {
      if (token.appId !== appId || token.userId !== userId) continue;
      if (isLive(token)) return token.value;
      tokens.delete(token.value);
    }
    const value = randomBytes(32).toString('hex');
    const expiresAt = clock.now() + dialect.tokenMinutes * 60_000;
    tokens.set(value, { value, appId, userId, expiresAt });
    return value;
  };

  return {
    /** A user accepted: issues a one-time auth_key. One is live per app and user. */
    issueAuthKey(appId: string, userId: string): string {
      const value = randomBytes(16).toString('hex');
      authKeys.set(JSON.stringify([appId, userId]), { value, appId, userId });
      return value;
    },

    /** Spends an auth_key on an access_token; `undefined` when it is unknown, used or another app's. */
    exchange(appId: string, authKey: string): string | undefined {
      for (const [owner, key] of authKeys) {
        if (key.value !== authKey || key.appId !== appId) continue;
        authKeys.delete(owner);
        return issueToken(appId, key.userId);
      }
      return undefined;
    },

    /** The state of a token. It expires the moment its lifetime has elapsed. */
    inspect(accessToken: string): { state: 'valid' | 'expired' | 'invalid'; userId?: string } {
      const token = tokens.get(accessToken);
      if (!token) return { state: 'invalid' };
      return isLive(token) ? { state: 'valid', userId: token.userId } : { state: 'expired' };
    },

    revokeToken: (accessToken: string) => void tokens.delete(accessToken),

    /** The tokens that are alive, the latest used first. */
    liveTokens: (): Credential[] => [...tokens.values()].filter(isLive),
  };
}

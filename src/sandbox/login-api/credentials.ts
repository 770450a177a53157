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

/** A sandbox that runs for weeks must not grow for ever. */
const MAX = 10_000;

/**
 * The auth_keys and access_tokens of one sandbox (spec, "States and transitions").
 *
 * @param draw - Makes a secret of so many bytes, in hex.
 */
export function createCredentials(
  clock: SandboxClock,
  dialect: SandboxDialect,
  draw: (bytes: number) => string,
) {
  /** Each is valid until its first use. */
  const authKeys = new LRUCache<string, Omit<Credential, 'value' | 'expiresAt'>>({ max: MAX });
  const tokens = new LRUCache<string, Credential>({ max: MAX });
  const isLive = ({ expiresAt }: Credential): boolean => clock.now() < expiresAt;

  const issueToken = (appId: string, userId: string): string => {
    for (const token of dialect.tokenReuse ? tokens.values() : []) {
      if (token.appId !== appId || token.userId !== userId) continue;
      if (isLive(token)) return token.value;
      tokens.delete(token.value);
    }
    const value = draw(32);
    const expiresAt = clock.now() + dialect.tokenMinutes * 60_000;
    tokens.set(value, { value, appId, userId, expiresAt });
    return value;
  };

  return {
    /** A user accepted: issues a one-time auth_key. */
    issueAuthKey(appId: string, userId: string): string {
      for (const [value, key] of dialect.oneLiveAuthKey ? authKeys : []) {
        if (key.appId === appId && key.userId === userId) authKeys.delete(value);
      }
      const value = draw(16);
      authKeys.set(value, { appId, userId });
      return value;
    },

    /** Spends an auth_key on an access_token; `undefined` when it is unknown, used or another app's. */
    exchange(appId: string, authKey: string): string | undefined {
      const key = authKeys.get(authKey);
      if (key?.appId !== appId) return undefined;
      authKeys.delete(authKey);
      return issueToken(appId, key.userId);
    },

    /** The state of a token. It expires the moment its lifetime has elapsed. */
    inspect(accessToken: string): { state: 'valid' | 'expired' | 'invalid'; userId?: string } {
      const token = tokens.get(accessToken);
      if (!token) return { state: 'invalid' };
      return isLive(token) ? { state: 'valid', userId: token.userId } : { state: 'expired' };
    },

    revokeToken: (accessToken: string) => void tokens.delete(accessToken),

    /** Ends all logins. */
    clear(): void {
      authKeys.clear();
      tokens.clear();
    },

    /** The tokens that are alive, the latest used first. */
    liveTokens: (): Credential[] => [...tokens.values()].filter(isLive),
  };
}

import { LRUCache } from 'lru-cache';
import type { SandboxClock } from '../clock.js';
import type { SandboxDialect } from '../switches.js';

interface Credential {
  readonly appId: string;
  readonly userId: string;
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
  const authKeys = new LRUCache<string, Credential>({ max: MAX });
  const tokens = new LRUCache<string, Credential & { readonly expiresAt: number }>({ max: MAX });
  const isSame = (one: Credential, appId: string, userId: string): boolean =>
    one.appId === appId && one.userId === userId;

  const issueToken = ({ appId, userId }: Credential): string => {
    for (const [value, token] of dialect.tokenReuse ? tokens : []) {
      if (!isSame(token, appId, userId)) continue;
      if (clock.now() < token.expiresAt) return value;
      tokens.delete(value);
    }
    const value = draw(32);
    const expiresAt = clock.now() + dialect.tokenMinutes * 60_000;
    tokens.set(value, { appId, userId, expiresAt });
    return value;
  };

  return {
    /** A user accepted: issues a one-time auth_key. */
    issueAuthKey(appId: string, userId: string): string {
      for (const [value, key] of dialect.oneLiveAuthKey ? authKeys : []) {
        if (isSame(key, appId, userId)) authKeys.delete(value);
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
      return issueToken(key);
    },

    /** Whose token it is, or how it is not valid. It expires the moment its lifetime has elapsed. */
    inspect(accessToken: string): { userId: string } | 'expired' | 'invalid' {
      const token = tokens.get(accessToken);
      if (!token) return 'invalid';
      return clock.now() < token.expiresAt ? token : 'expired';
    },

    /** Ends all logins. */
    clear(): void {
      authKeys.clear();
      tokens.clear();
    },
  };
}

import { randomBytes } from 'node:crypto';
import { lru } from '../lru.js';
import type { SandboxClock } from './clock.js';
import type { SandboxDialect } from './switches.js';

interface Credential {
  readonly appId: string;
  readonly userId: string;
}

/** A sandbox that runs for weeks must not grow for ever. */
const MAX = 10_000;

const newSecret = (bytes: number): string => randomBytes(bytes).toString('hex');

/**
 * The auth_keys and access_tokens of one sandbox (spec, "States and transitions"). They are new at every start, because an
 * app remembers those that were used.
 */
export function createCredentials(clock: SandboxClock, dialect: SandboxDialect) {
  /** Each is valid until its first use. */
  const authKeys = lru<string, Credential>(MAX);
  const tokens = lru<string, Credential & { readonly expiresAt: number }>(MAX);

  return {
    /** A user accepted: issues a one-time auth_key. */
    issueAuthKey(appId: string, userId: string): string {
      for (const [value, key] of dialect.oneLiveAuthKey ? authKeys : []) {
        if (key.appId === appId && key.userId === userId) authKeys.delete(value);
      }
      const value = newSecret(16);
      authKeys.set(value, { appId, userId });
      return value;
    },

    /** Spends an auth_key on an access_token; `undefined` when it is unknown, used or another app's. */
    exchange(appId: string, authKey: string): string | undefined {
      const key = authKeys.get(authKey);
      if (key?.appId !== appId) return undefined;
      authKeys.delete(authKey);
      const value = newSecret(32);
      const expiresAt = clock.now() + dialect.tokenMinutes * 60_000;
      tokens.set(value, { ...key, expiresAt });
      return value;
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

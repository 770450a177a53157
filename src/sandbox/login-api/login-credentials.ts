import { randomBytes } from 'node:crypto';
import type { SandboxClock } from '../clock.js';
import type { SandboxDialect } from '../dialect.js';

/** The specification gives auth_key no lifetime; ten minutes is what comparable services allow. */
const AUTH_KEY_LIFETIME = 10 * 60_000;

/** A sandbox that runs for weeks must not grow for ever: the oldest tokens are forgotten first. */
const MAX_TOKENS = 10_000;

interface AuthKey {
  readonly value: string;
  readonly appId: string;
  readonly userId: string;
  readonly issuedAt: number;
}

export interface Token {
  readonly value: string;
  readonly appId: string;
  readonly userId: string;
  readonly expiresAt: number;
}

export type TokenState =
  | { readonly state: 'valid'; readonly userId: string }
  | { readonly state: 'expired' | 'invalid' };

/** The auth_keys and access_tokens of one sandbox (spec, "States and transitions"). */
export class LoginCredentials {
  readonly #clock: SandboxClock;
  readonly #dialect: SandboxDialect;
  readonly #changed: () => void;
  /** By app and user: a new auth_key replaces the older one. */
  readonly #authKeys = new Map<string, AuthKey>();
  readonly #tokens = new Map<string, Token>();

  constructor(clock: SandboxClock, dialect: SandboxDialect, onChange: () => void) {
    this.#clock = clock;
    this.#dialect = dialect;
    this.#changed = onChange;
  }

  /** A user accepted: issues a one-time auth_key. One is live per app and user. */
  issueAuthKey(appId: string, userId: string): string {
    const value = randomBytes(16).toString('hex');
    const issuedAt = this.#clock.now();
    this.#authKeys.set(JSON.stringify([appId, userId]), { value, appId, userId, issuedAt });
    return value;
  }

  /** Spends an auth_key on an access_token; `undefined` when it is unknown, used, too old or another app's. */
  exchange(appId: string, authKey: string): string | undefined {
    for (const [owner, key] of this.#authKeys) {
      if (key.value !== authKey || key.appId !== appId) continue;
      this.#authKeys.delete(owner);
      if (this.#clock.now() >= key.issuedAt + AUTH_KEY_LIFETIME) return undefined;
      return this.#issueToken(appId, key.userId);
    }
    return undefined;
  }

  /** Says what a token is worth; it expires the moment its lifetime has elapsed. */
  inspect(accessToken: string): TokenState {
    const token = this.#tokens.get(accessToken);
    if (!token) return { state: 'invalid' };
    if (this.#clock.now() >= token.expiresAt) return { state: 'expired' };
    return { state: 'valid', userId: token.userId };
  }

  revokeToken(accessToken: string): void {
    if (this.#tokens.delete(accessToken)) this.#changed();
  }

  /** The tokens that are alive, newest first, at most so many. */
  liveTokens(most: number): Token[] {
    const now = this.#clock.now();
    const live = [...this.#tokens.values()].filter(({ expiresAt }) => now < expiresAt);
    return live.reverse().slice(0, most);
  }

  #issueToken(appId: string, userId: string): string {
    const now = this.#clock.now();
    if (this.#dialect.tokenReuse) {
      for (const token of this.#tokens.values()) {
        if (token.appId !== appId || token.userId !== userId) continue;
        if (now < token.expiresAt) return token.value;
        this.#tokens.delete(token.value);
      }
    }
    const value = randomBytes(32).toString('hex');
    const expiresAt = now + this.#dialect.tokenMinutes * 60_000;
    this.#tokens.set(value, { value, appId, userId, expiresAt });
    const [oldest] = this.#tokens.keys();
    if (oldest !== undefined && this.#tokens.size > MAX_TOKENS) this.#tokens.delete(oldest);
    this.#changed();
    return value;
  }
}

import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SandboxClock } from '../clock.js';
import type { SandboxDialect } from '../dialect.js';

/** The specification gives auth_key no lifetime; ten minutes is what comparable services allow. */
const AUTH_KEY_LIFETIME = 10 * 60_000;

interface Credential {
  readonly value: string;
  readonly appId: string;
  readonly userId: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** The auth_keys and access_tokens of one sandbox (spec, "States and transitions"). */
export class LoginCredentials {
  readonly #clock: SandboxClock;
  readonly #dialect: SandboxDialect;
  readonly #changed: () => void;
  /** By app and user: a new auth_key replaces the older one. */
  readonly #authKeys = new Map<string, Credential>();
  /** A sandbox that runs for weeks must not grow for ever. */
  readonly #tokens = new LRUCache<string, Credential>({ max: 10_000 });

  constructor(clock: SandboxClock, dialect: SandboxDialect, onChange: () => void) {
    this.#clock = clock;
    this.#dialect = dialect;
    this.#changed = onChange;
  }

  /** A user accepted: issues a one-time auth_key. One is live per app and user. */
  issueAuthKey(appId: string, userId: string): string {
    const value = randomBytes(16).toString('hex');
    const expiresAt = this.#clock.now() + AUTH_KEY_LIFETIME;
    this.#authKeys.set(JSON.stringify([appId, userId]), { value, appId, userId, expiresAt });
    return value;
  }

  /** Spends an auth_key on an access_token; `undefined` when it is unknown, used, too old or another app's. */
  exchange(appId: string, authKey: string): string | undefined {
    const isIt = ({ value, appId: owner }: Credential) => value === authKey && owner === appId;
    const key = [...this.#authKeys.values()].find(isIt);
    if (!key) return undefined;
    this.#authKeys.delete(JSON.stringify([appId, key.userId]));
    return this.#isLive(key) ? this.#issueToken(appId, key.userId) : undefined;
  }

  /** Says what a token is worth; it expires the moment its lifetime has elapsed. */
  inspect(accessToken: string): { state: 'valid' | 'expired' | 'invalid'; userId?: string } {
    const token = this.#tokens.get(accessToken);
    if (!token) return { state: 'invalid' };
    return this.#isLive(token) ? { state: 'valid', userId: token.userId } : { state: 'expired' };
  }

  revokeToken(accessToken: string): void {
    if (this.#tokens.delete(accessToken)) this.#changed();
  }

  /** The tokens that are alive, the latest used first. */
  liveTokens(): Credential[] {
    return [...this.#tokens.values()].filter((token) => this.#isLive(token));
  }

  #isLive({ expiresAt }: Credential): boolean {
    return this.#clock.now() < expiresAt;
  }

  #issueToken(appId: string, userId: string): string {
    if (this.#dialect.tokenReuse) {
      for (const token of this.#tokens.values()) {
        if (token.appId !== appId || token.userId !== userId) continue;
        if (this.#isLive(token)) return token.value;
        this.#tokens.delete(token.value);
      }
    }
    const value = randomBytes(32).toString('hex');
    const expiresAt = this.#clock.now() + this.#dialect.tokenMinutes * 60_000;
    this.#tokens.set(value, { value, appId, userId, expiresAt });
    this.#changed();
    return value;
  }
}

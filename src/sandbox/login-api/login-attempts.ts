import { randomBytes } from 'node:crypto';
import type { SandboxClock } from '../clock.js';

const LIFETIME = 30 * 60_000;
const MAX_ATTEMPTS = 1000;

/** One visit to /api/oauth that is not decided yet. Its id is also the token its forms must carry. */
export interface LoginAttempt {
  readonly id: string;
  /** The browser session it belongs to: another site's form cannot know it, nor use it. */
  readonly sessionId: string;
  readonly appId: string;
  /** Where the browser goes on acceptance, as it stood when the attempt started. */
  readonly redirectUrl: string;
  readonly startedAt: number;
}

/** The undecided logins of one sandbox. */
export class LoginAttempts {
  readonly #clock: SandboxClock;
  readonly #attempts = new Map<string, LoginAttempt>();

  constructor(clock: SandboxClock) {
    this.#clock = clock;
  }

  /** Starts an attempt. */
  start(sessionId: string, appId: string, redirectUrl: string): LoginAttempt {
    const id = randomBytes(16).toString('hex');
    const attempt = { id, sessionId, appId, redirectUrl, startedAt: this.#clock.now() };
    this.#attempts.set(id, attempt);
    for (const oldest of this.#attempts.keys()) {
      if (this.#attempts.size <= MAX_ATTEMPTS) break;
      this.#attempts.delete(oldest);
    }
    return attempt;
  }

  /** The attempt with this id, if it is this session's and not too old. */
  find(id: string, sessionId: string): LoginAttempt | undefined {
    const attempt = this.#attempts.get(id);
    if (!attempt || attempt.sessionId !== sessionId) return undefined;
    return this.#clock.now() < attempt.startedAt + LIFETIME ? attempt : undefined;
  }

  /** Ends an attempt: its forms cannot be sent again. */
  end(attempt: LoginAttempt): void {
    this.#attempts.delete(attempt.id);
  }
}

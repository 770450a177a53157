import { randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';
import type { SandboxClock } from '../clock.js';

const MAX_SESSIONS = 1000;
const MAX_ATTEMPTS = 100;
const ATTEMPT_LIFETIME = 30 * 60_000;

/** One visit to /api/oauth that is not decided yet. Its id is also the token that its forms carry. */
export interface LoginAttempt {
  readonly id: string;
  readonly appId: string;
  /** Where the browser goes on acceptance, as it stood when the attempt started. */
  readonly redirectUrl: string;
  readonly startedAt: number;
}

const newId = (): string => randomBytes(16).toString('hex');

function dropOldest(map: Map<string, unknown>, most: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= most) break;
    map.delete(oldest);
  }
}

/** One browser at the sandbox: its user, the apps that this user has accepted, its login attempts. */
export class BrowserSession {
  readonly id = newId();
  userId: string | undefined;
  readonly #clock: SandboxClock;
  readonly #consents = new Set<string>();
  readonly #attempts = new Map<string, LoginAttempt>();

  constructor(clock: SandboxClock) {
    this.#clock = clock;
  }

  start(appId: string, redirectUrl: string): LoginAttempt {
    const attempt = { id: newId(), appId, redirectUrl, startedAt: this.#clock.now() };
    this.#attempts.set(attempt.id, attempt);
    dropOldest(this.#attempts, MAX_ATTEMPTS);
    return attempt;
  }

  /** The attempt with this id, if it is this browser's and not too old. */
  attempt(id: string): LoginAttempt | undefined {
    const attempt = this.#attempts.get(id);
    return attempt && this.#clock.now() < attempt.startedAt + ATTEMPT_LIFETIME
      ? attempt
      : undefined;
  }

  /** Ends an attempt: its forms cannot be sent again. */
  end(attempt: LoginAttempt): void {
    this.#attempts.delete(attempt.id);
  }

  /** Whether the user has accepted the app before: then visits are redirected at once (field notes). */
  hasAccepted(appId: string): boolean {
    return this.#consents.has(JSON.stringify([appId, this.userId]));
  }

  accept(appId: string): void {
    this.#consents.add(JSON.stringify([appId, this.userId]));
  }

  /** Logs the user out; consents are asked for again, which is what a developer wants to see. */
  logOut(): void {
    this.userId = undefined;
    this.#consents.clear();
  }
}

/** Cookies ignore ports, and two sandboxes often share a host, so the name carries the port. */
const cookieName = (req: Request): string => `sandbox_session_${req.socket.localPort ?? 0}`;

export class BrowserSessions {
  readonly #clock: SandboxClock;
  readonly #sessions = new Map<string, BrowserSession>();

  constructor(clock: SandboxClock) {
    this.#clock = clock;
  }

  find(req: Request): BrowserSession | undefined {
    const cookies = (req.headers.cookie ?? '').split(/; */);
    const cookie = cookies.find((each) => each.startsWith(`${cookieName(req)}=`));
    return this.#sessions.get(cookie?.split('=')[1] ?? '');
  }

  /** The session of a browser; a new one, with its cookie, if it has none. */
  open(req: Request, res: Response): BrowserSession {
    const known = this.find(req);
    if (known) return known;
    const session = new BrowserSession(this.#clock);
    this.#sessions.set(session.id, session);
    dropOldest(this.#sessions, MAX_SESSIONS);
    res.setHeader('Set-Cookie', `${cookieName(req)}=${session.id}; Path=/; HttpOnly; SameSite=Lax`);
    return session;
  }
}

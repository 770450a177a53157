import { randomBytes } from 'node:crypto';
import { parseCookie } from 'cookie';
import type { Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import type { SandboxClock } from '../clock.js';

const ATTEMPT_LIFETIME = 30 * 60_000;

/** One visit to /api/oauth that is not decided yet. Its id is also the token that its forms carry. */
export interface LoginAttempt {
  readonly id: string;
  readonly appId: string;
  readonly startedAt: number;
}

/** One browser at the sandbox. */
export interface BrowserSession {
  userId: string | undefined;
  /** The apps that this user has accepted: visits of these are redirected at once (field notes). */
  readonly accepted: Set<string>;
  readonly attempts: LRUCache<string, LoginAttempt>;
}

const newId = (): string => randomBytes(16).toString('hex');

/** Cookies ignore ports, and two sandboxes often share a host, so the name carries the port. */
const cookieName = (req: Request): string => `sandbox_session_${req.socket.localPort ?? 0}`;

/** The browsers that log in, with their attempts. The oldest are forgotten first. */
export function createSessions(clock: SandboxClock) {
  const sessions = new LRUCache<string, BrowserSession>({ max: 1000 });
  const find = (req: Request): BrowserSession | undefined =>
    sessions.get(parseCookie(req.headers.cookie ?? '')[cookieName(req)] ?? '');
  return {
    find,

    /** Starts an attempt. A browser without a session gets one, with its cookie. */
    start(req: Request, res: Response, appId: string) {
      let session = find(req);
      if (!session) {
        const id = newId();
        session = { userId: undefined, accepted: new Set(), attempts: new LRUCache({ max: 100 }) };
        sessions.set(id, session);
        res.cookie(cookieName(req), id, { httpOnly: true, sameSite: 'lax' });
      }
      const attempt = { id: newId(), appId, startedAt: clock.now() };
      session.attempts.set(attempt.id, attempt);
      return { session, attempt };
    },

    /** The attempt with this id, if it is this browser's and not too old. */
    attemptOf(session: BrowserSession | undefined, id: string): LoginAttempt | undefined {
      const attempt = session?.attempts.get(id);
      const isLive = attempt && clock.now() < attempt.startedAt + ATTEMPT_LIFETIME;
      return isLive ? attempt : undefined;
    },
  };
}

/** Logs a user in, or out. Consents are asked for again, which is what a developer wants to see. */
export function setUser(session: BrowserSession, userId: string | undefined): void {
  session.userId = userId;
  session.accepted.clear();
}

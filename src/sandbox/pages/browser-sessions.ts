import { randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';

const MAX_SESSIONS = 1000;

/** One browser at the sandbox: who is logged in there, and which apps that user has accepted. */
export interface BrowserSession {
  readonly id: string;
  userId: string | undefined;
  /** App and user, once accepted: later visits are sent back at once (field notes). */
  readonly consents: Set<string>;
}

/** Cookies ignore ports, and two sandboxes often share a host, so the name carries the port. */
const cookieName = (req: Request): string => `sandbox_session_${req.socket.localPort ?? 0}`;

function cookieValue(req: Request, name: string): string | undefined {
  for (const part of (req.headers.cookie ?? '').split(';')) {
    const [key, value] = part.trim().split('=', 2);
    if (key === name) return value;
  }
  return undefined;
}

/** The browser sessions of one sandbox. */
export class BrowserSessions {
  readonly #sessions = new Map<string, BrowserSession>();

  /** The session of a browser, if it has one. */
  find(req: Request): BrowserSession | undefined {
    return this.#sessions.get(cookieValue(req, cookieName(req)) ?? '');
  }

  /** The session of a browser; a new one, with its cookie, if it has none. */
  open(req: Request, res: Response): BrowserSession {
    const known = this.find(req);
    if (known) return known;
    const session: BrowserSession = {
      id: randomBytes(16).toString('hex'),
      userId: undefined,
      consents: new Set(),
    };
    this.#sessions.set(session.id, session);
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= MAX_SESSIONS) break;
      this.#sessions.delete(oldest);
    }
    res.setHeader('Set-Cookie', `${cookieName(req)}=${session.id}; Path=/; HttpOnly; SameSite=Lax`);
    return session;
  }
}

const consent = (appId: string, userId: string): string => JSON.stringify([appId, userId]);

/** Whether the session's user has accepted the app before. */
export const hasConsented = (session: BrowserSession, appId: string): boolean =>
  session.userId !== undefined && session.consents.has(consent(appId, session.userId));

/** Remembers that the session's user accepted the app. */
export function rememberConsent(session: BrowserSession, appId: string): void {
  if (session.userId !== undefined) session.consents.add(consent(appId, session.userId));
}

/** Logs the session's user out; consents are asked anew, which is what a developer wants to see. */
export function logOut(session: BrowserSession): void {
  session.userId = undefined;
  session.consents.clear();
}

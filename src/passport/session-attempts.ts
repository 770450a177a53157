import type { Request } from 'express';
import {
  type LoginAttempt,
  type LoginAttempts,
  pickAttempt,
  readAttempts,
  withAttempt,
} from './login-attempts.js';

const KEY = 'marketgate:attempts';

/** As much of a session as is used: express-session has `save`, cookie-session has not. */
interface Session {
  [KEY]?: unknown;
  save?: (done: (error?: unknown) => void) => void;
}

/** Login attempts in the session of express-session or its equals. */
export class SessionAttempts implements LoginAttempts {
  async begin(req: Request, attempt: LoginAttempt): Promise<void> {
    const session = sessionOf(req);
    session[KEY] = withAttempt(readAttempts(session[KEY]), attempt);
    await save(session);
  }

  async take(req: Request, now: number, id?: string): Promise<LoginAttempt | undefined> {
    const session = sessionOf(req);
    const before = readAttempts(session[KEY]);
    if (before.length === 0) return undefined;
    const { attempt, rest } = pickAttempt(before, now, id);
    if (rest.length === 0) delete session[KEY];
    else session[KEY] = rest;
    await save(session);
    return attempt;
  }
}

function sessionOf(req: Request): Session {
  const { session } = req as { session?: Session | null };
  if (typeof session === 'object' && session !== null) return session;
  throw new Error(
    'MarketplaceStrategy: this request has no session; app.use(session({ … })) of express-session before passport',
  );
}

/**
 * Written before the browser is sent on, and before anything is spent: left to the end of the answer,
 * a quick browser could be back before its session is.
 */
function save(session: Session): Promise<void> {
  return new Promise((resolve, reject) => {
    if (typeof session.save !== 'function') resolve();
    else session.save((error) => (error ? reject(error) : resolve()));
  });
}

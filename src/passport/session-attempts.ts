import type { Request } from 'express';
import { type LoginAttempt, type LoginAttempts, readAttempts } from './login-attempts.js';
import { saveSession, sessionOf } from './session.js';

const KEY = 'marketgate:attempts';

/** Login attempts in the session of express-session or its equals. */
export class SessionAttempts implements LoginAttempts {
  async read(req: Request): Promise<LoginAttempt[]> {
    return readAttempts(requiredSession(req)[KEY]);
  }

  async write(req: Request, attempts: readonly LoginAttempt[]): Promise<void> {
    const session = requiredSession(req);
    if (attempts.length === 0 && session[KEY] === undefined) return;
    if (attempts.length === 0) delete session[KEY];
    else session[KEY] = attempts;
    await saveSession(session);
  }
}

function requiredSession(req: Request): NonNullable<ReturnType<typeof sessionOf>> {
  const session = sessionOf(req);
  if (session !== undefined) return session;
  throw new Error(
    'MarketplaceStrategy: this request has no session; app.use(session({ … })) of express-session before passport, or use loginAttempts: { cookieSecret: [ … ] }',
  );
}

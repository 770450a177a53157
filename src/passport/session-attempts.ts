import type { Request } from 'express';
import { saveSession, sessionOf } from '../express/session.js';
import { type LoginAttempt, type LoginAttempts, readAttempts } from './login-attempts.js';

/** Login attempts in the session of express-session or its equals. */
export class SessionAttempts implements LoginAttempts {
  readonly #key: string;

  /** @param scope - tells the strategies of one app apart. */
  constructor(scope: string) {
    this.#key = `marketgate:attempts:${scope}`;
  }

  async read(req: Request): Promise<LoginAttempt[]> {
    return readAttempts(requiredSession(req)[this.#key]);
  }

  async write(req: Request, attempts: readonly LoginAttempt[]): Promise<void> {
    const session = requiredSession(req);
    if (attempts.length === 0 && session[this.#key] === undefined) return;
    if (attempts.length === 0) delete session[this.#key];
    else session[this.#key] = attempts;
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

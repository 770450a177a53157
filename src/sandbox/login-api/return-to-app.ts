import type { Response } from 'express';
import type { SandboxContext } from '../context.js';
import type { LoginAttempt } from './login-attempts.js';

/**
 * Sends the browser to the app with a new auth_key. `?auth_key=` is appended literally, whatever the
 * redirect URL looks like, and nothing else is added (field notes): so not through `res.redirect`, which
 * would re-encode it.
 */
export function returnToApp(
  context: SandboxContext,
  res: Response,
  attempt: LoginAttempt,
  userId: string,
  status: 302 | 303,
): void {
  context.attempts.end(attempt);
  const authKey = context.credentials.issueAuthKey(attempt.appId, userId);
  res.statusCode = status;
  res.setHeader('Location', `${attempt.redirectUrl}?auth_key=${authKey}`);
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.end();
}

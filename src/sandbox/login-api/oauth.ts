import type { RequestHandler, Response } from 'express';
import type { SandboxContext } from '../context.js';
import { type BrowserSession, hasConsented } from '../pages/browser-sessions.js';
import { consentPage } from '../pages/consent-page.js';
import { loginPage } from '../pages/login-page.js';
import { registerPage, unknownAppPage } from '../pages/message-pages.js';
import { sendPage } from '../pages/send-page.js';
import { queryParameters, stringParameter } from '../parameters.js';
import type { LoginAttempt } from './login-attempts.js';
import { redirectTarget } from './redirect-target.js';
import { returnToApp } from './return-to-app.js';

/** Shows the step an attempt has come to: log in, consent, or straight back to the app. */
export function showStep(
  context: SandboxContext,
  res: Response,
  session: BrowserSession,
  attempt: LoginAttempt,
): void {
  const app = context.data.apps.find((candidate) => candidate.app_id === attempt.appId);
  const user = context.data.users.find((candidate) => candidate.user_id === session.userId);
  const formTarget = attempt.redirectUrl;
  if (!app) {
    sendPage(res, unknownAppPage(), { status: 404 });
  } else if (!user) {
    sendPage(res, loginPage(app, context.data.users, attempt), { formTarget });
  } else if (hasConsented(session, app.app_id)) {
    returnToApp(context, res, attempt, user.user_id, 302);
  } else {
    sendPage(res, consentPage(app, user, attempt), { formTarget });
  }
}

/**
 * GET /api/oauth?app_id → the login and consent pages, opened in the user's browser (spec, "Interface B").
 * Every other query parameter is dropped; there is no `state`.
 */
export function oauth(context: SandboxContext): RequestHandler {
  return (req, res) => {
    const appId = stringParameter(queryParameters(req), 'app_id');
    const app = context.data.apps.find((candidate) => candidate.app_id === appId);
    if (!app) return sendPage(res, unknownAppPage(), { status: 404 });
    const target = redirectTarget(app, req);
    if (target === undefined) return sendPage(res, registerPage(app), { status: 400 });

    const session = context.sessions.open(req, res);
    showStep(context, res, session, context.attempts.start(session.id, app.app_id, target));
  };
}

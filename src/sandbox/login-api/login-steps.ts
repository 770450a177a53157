import type { Request, RequestHandler, Response } from 'express';
import type { SandboxContext } from '../context.js';
import { type BrowserSession, logOut, rememberConsent } from '../pages/browser-sessions.js';
import { cancelledPage, loggedOutPage, outdatedPage } from '../pages/message-pages.js';
import { redirectWithin, sendPage } from '../pages/send-page.js';
import {
  bodyParameters,
  type Parameters,
  queryParameters,
  stringParameter,
} from '../parameters.js';
import type { LoginAttempt } from './login-attempts.js';
import { showStep } from './oauth.js';
import { returnToApp } from './return-to-app.js';

type Step = (req: Request, res: Response, session: BrowserSession, attempt: LoginAttempt) => void;

/**
 * Runs a step for the attempt its `attempt` parameter names. It must be an attempt of this very browser,
 * so a form that another site made cannot accept an app in the user's name.
 */
function withAttempt(
  context: SandboxContext,
  parametersOf: (req: Request) => Parameters,
  step: Step,
): RequestHandler {
  return (req, res) => {
    const id = stringParameter(parametersOf(req), 'attempt');
    const session = context.sessions.find(req);
    const attempt = session && context.attempts.find(id, session.id);
    if (!attempt) return sendPage(res, outdatedPage(), { status: 400 });
    step(req, res, session, attempt);
  };
}

const stepUrl = (attempt: LoginAttempt): `/${string}` => `/sandbox/login?attempt=${attempt.id}`;

/** GET /sandbox/login: the step an attempt has come to. */
export const showLogin = (context: SandboxContext): RequestHandler =>
  withAttempt(context, queryParameters, (_req, res, session, attempt) =>
    showStep(context, res, session, attempt),
  );

/** POST /sandbox/login: the visitor chose a user. */
export const logIn = (context: SandboxContext): RequestHandler =>
  withAttempt(context, bodyParameters, (req, res, session, attempt) => {
    const userId = stringParameter(bodyParameters(req), 'user_id');
    if (context.data.users.some((user) => user.user_id === userId)) session.userId = userId;
    redirectWithin(res, stepUrl(attempt));
  });

/** POST /sandbox/consent: accept sends the browser to the app; cancel sends nothing to the app. */
export const decide = (context: SandboxContext): RequestHandler =>
  withAttempt(context, bodyParameters, (req, res, session, attempt) => {
    const app = context.data.apps.find((candidate) => candidate.app_id === attempt.appId);
    const user = context.data.users.find((candidate) => candidate.user_id === session.userId);
    if (!app || !user) return redirectWithin(res, stepUrl(attempt));
    const decision = stringParameter(bodyParameters(req), 'decision');
    if (decision === 'cancel') return sendPage(res, cancelledPage(app, attempt));
    if (decision !== 'accept') return redirectWithin(res, stepUrl(attempt));
    rememberConsent(session, attempt.appId);
    returnToApp(context, res, attempt, user.user_id, 303);
  });

/** GET /sandbox/logout: logs the browser out, and goes on to choose another user if a login is under way. */
export function logOutOfSandbox(context: SandboxContext): RequestHandler {
  return (req, res) => {
    const session = context.sessions.find(req);
    if (session) logOut(session);
    const id = stringParameter(queryParameters(req), 'attempt');
    const attempt = session && context.attempts.find(id, session.id);
    if (attempt) redirectWithin(res, stepUrl(attempt));
    else sendPage(res, loggedOutPage());
  };
}

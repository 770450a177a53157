import type { RequestHandler, Response } from 'express';
import type { SandboxContext } from '../context.js';
import {
  cancelledPage,
  consentPage,
  loggedOutPage,
  loginPage,
  outdatedPage,
  registerPage,
  unknownAppPage,
} from '../pages/login-pages.js';
import { redirectWithin, sendPage } from '../pages/page.js';
import { bodyParameters, queryParameters, stringParameter } from '../request.js';
import { type BrowserSession, type LoginAttempt, setUser } from './browser-sessions.js';

/**
 * GET /api/oauth?app_id → the login and consent pages, opened in the user's browser (spec, "Interface B").
 * Every other query parameter is dropped; there is no `state`.
 */
export const oauth =
  (context: SandboxContext): RequestHandler =>
  (req, res) => {
    const appId = stringParameter(queryParameters(req), 'app_id');
    const app = context.data.apps.find(({ app_id }) => app_id === appId);
    if (!app) return sendPage(res, unknownAppPage(), { status: 404 });
    const { redirect_url: url } = app;
    if (url === undefined) return sendPage(res, registerPage(app), { status: 400 });
    showStep({ context, res, ...context.sessions.start(req, res, appId, url) });
  };

/** Where an accepted login leads. `?auth_key=` is appended literally, and nothing else (field notes). */
export const callbackUrl = (
  { credentials }: SandboxContext,
  appId: string,
  redirectUrl: string,
  userId: string,
): string => `${redirectUrl}?auth_key=${credentials.issueAuthKey(appId, userId)}`;

interface Step {
  readonly context: SandboxContext;
  readonly res: Response;
  readonly session: BrowserSession;
  readonly attempt: LoginAttempt;
}

const peopleOf = ({ context: { data }, session, attempt }: Step) => ({
  app: data.apps.find(({ app_id }) => app_id === attempt.appId),
  user: data.users.find(({ user_id }) => user_id === session.userId),
});

function showStep(step: Step): void {
  const { context, res, session, attempt } = step;
  const { app, user } = peopleOf(step);
  const formTarget = attempt.redirectUrl;
  if (!app) sendPage(res, unknownAppPage(), { status: 404 });
  else if (!user) sendPage(res, loginPage(app, context.data.users, attempt), { formTarget });
  else if (session.accepted.has(app.app_id)) returnToApp(step, user.user_id, 302);
  else sendPage(res, consentPage(app, user, attempt), { formTarget });
}

/** Sends the browser to the app. Not through `res.redirect`, which would encode the URL again. */
function returnToApp({ context, res, session, attempt }: Step, userId: string, status: number) {
  session.attempts.delete(attempt.id);
  res.writeHead(status, {
    Location: callbackUrl(context, attempt.appId, attempt.redirectUrl, userId),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
  });
  res.end();
}

const stepUrl = (attempt: LoginAttempt): `/${string}` => `/sandbox/login?attempt=${attempt.id}`;

type Field = (name: string) => string;

/**
 * Takes a step of the attempt that the `attempt` parameter names. It must be an attempt of this very browser,
 * so a form that another site made cannot accept an app in the user's name.
 */
const ofAttempt =
  (context: SandboxContext, take: (step: Step, field: Field) => void): RequestHandler =>
  (req, res) => {
    const parameters = req.method === 'POST' ? bodyParameters(req) : queryParameters(req);
    const field = (name: string) => stringParameter(parameters, name);
    const session = context.sessions.find(req);
    const attempt = context.sessions.attemptOf(session, field('attempt'));
    if (session && attempt) take({ context, res, session, attempt }, field);
    else sendPage(res, outdatedPage(), { status: 400 });
  };

/** GET /sandbox/login: the next page of an attempt. */
export const showLogin = (context: SandboxContext) => ofAttempt(context, showStep);

/** POST /sandbox/login: the visitor chose a user. */
export const logIn = (context: SandboxContext) =>
  ofAttempt(context, ({ res, session, attempt }, field) => {
    const user = context.data.users.find(({ user_id }) => user_id === field('user_id'));
    if (user) setUser(session, user.user_id);
    redirectWithin(res, stepUrl(attempt));
  });

/** POST /sandbox/consent: accept sends the browser to the app; cancel sends nothing to the app. */
export const decide = (context: SandboxContext) =>
  ofAttempt(context, (step, field) => {
    const { res, session, attempt } = step;
    const { app, user } = peopleOf(step);
    const decision = field('decision');
    if (app && user && decision === 'cancel') return sendPage(res, cancelledPage(app, attempt));
    if (!app || !user || decision !== 'accept') return redirectWithin(res, stepUrl(attempt));
    session.accepted.add(app.app_id);
    returnToApp(step, user.user_id, 303);
  });

/** GET /sandbox/logout: logs the browser out, and goes on to choose another user if a login is in progress. */
export const logOut =
  ({ sessions }: SandboxContext): RequestHandler =>
  (req, res) => {
    const session = sessions.find(req);
    if (session) setUser(session, undefined);
    const attempt = sessions.attemptOf(session, stringParameter(queryParameters(req), 'attempt'));
    if (attempt) redirectWithin(res, stepUrl(attempt));
    else sendPage(res, loggedOutPage());
  };

import type { Request, RequestHandler, Response } from 'express';
import type { SandboxContext } from '../context.js';
import type { SeedApp } from '../data/schema.js';
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
import {
  bodyParameters,
  originOf,
  type Parameters,
  queryParameters,
  stringParameter,
} from '../request.js';
import type { BrowserSession, LoginAttempt } from './browser-sessions.js';

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
    const redirectUrl = redirectUrlOf(app, req);
    if (redirectUrl === undefined) return sendPage(res, registerPage(app), { status: 400 });
    const session = context.sessions.open(req, res);
    showStep(context, res, session, session.start(app.app_id, redirectUrl));
  };

const LOOPBACK = /^(?:localhost|(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

/**
 * Where an accepted login goes: the app's registered redirect URL. How it is registered is "not shown", so
 * an app without one is assumed to live where the browser came from, if that is this machine and not the
 * sandbox itself.
 */
function redirectUrlOf(app: Readonly<SeedApp>, req: Request): string | undefined {
  const referer = req.headers.referer ?? '';
  if (app.redirect_url !== undefined || !URL.canParse(referer)) return app.redirect_url;
  const { origin, hostname, protocol } = new URL(referer);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  if (!isWeb || !LOOPBACK.test(hostname) || origin === originOf(req)) return undefined;
  return `${origin}/callback`;
}

function showStep(
  context: SandboxContext,
  res: Response,
  session: BrowserSession,
  attempt: LoginAttempt,
): void {
  const app = context.data.apps.find(({ app_id }) => app_id === attempt.appId);
  const user = context.data.users.find(({ user_id }) => user_id === session.userId);
  const formTarget = attempt.redirectUrl;
  if (!app) {
    sendPage(res, unknownAppPage(), { status: 404 });
  } else if (!user) {
    sendPage(res, loginPage(app, context.data.users, attempt), { formTarget });
  } else if (session.hasAccepted(app.app_id)) {
    returnToApp(context, res, session, attempt, user.user_id, 302);
  } else {
    sendPage(res, consentPage(app, user, attempt), { formTarget });
  }
}

/** Where an accepted login leads. `?auth_key=` is appended literally, and nothing else (field notes). */
export const callbackUrl = (
  { credentials }: SandboxContext,
  appId: string,
  redirectUrl: string,
  userId: string,
): string => `${redirectUrl}?auth_key=${credentials.issueAuthKey(appId, userId)}`;

/** Sends the browser to the app. Not through `res.redirect`, which would encode the URL again. */
function returnToApp(
  context: SandboxContext,
  res: Response,
  session: BrowserSession,
  attempt: LoginAttempt,
  userId: string,
  status: 302 | 303,
): void {
  session.end(attempt);
  res.writeHead(status, {
    Location: callbackUrl(context, attempt.appId, attempt.redirectUrl, userId),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
  });
  res.end();
}

type Step = (req: Request, res: Response, session: BrowserSession, attempt: LoginAttempt) => void;

/**
 * Runs a step for the attempt that the `attempt` parameter names. It must be an attempt of this very
 * browser, so a form that another site made cannot accept an app in the user's name.
 */
function withAttempt(
  context: SandboxContext,
  parametersOf: (req: Request) => Parameters,
  step: Step,
): RequestHandler {
  return (req, res) => {
    const session = context.sessions.find(req);
    const attempt = session?.attempt(stringParameter(parametersOf(req), 'attempt'));
    if (!session || !attempt) return sendPage(res, outdatedPage(), { status: 400 });
    step(req, res, session, attempt);
  };
}

const stepUrl = (attempt: LoginAttempt): `/${string}` => `/sandbox/login?attempt=${attempt.id}`;

export const showLogin = (context: SandboxContext): RequestHandler =>
  withAttempt(context, queryParameters, (_req, res, session, attempt) =>
    showStep(context, res, session, attempt),
  );

/** POST /sandbox/login: the visitor chose a user. */
export const logIn = (context: SandboxContext): RequestHandler =>
  withAttempt(context, bodyParameters, (req, res, session, attempt) => {
    const userId = stringParameter(bodyParameters(req), 'user_id');
    if (context.data.users.some(({ user_id }) => user_id === userId)) session.userId = userId;
    redirectWithin(res, stepUrl(attempt));
  });

/** POST /sandbox/consent: accept sends the browser to the app; cancel sends nothing to the app. */
export const decide = (context: SandboxContext): RequestHandler =>
  withAttempt(context, bodyParameters, (req, res, session, attempt) => {
    const app = context.data.apps.find(({ app_id }) => app_id === attempt.appId);
    const user = context.data.users.find(({ user_id }) => user_id === session.userId);
    const decision = stringParameter(bodyParameters(req), 'decision');
    if (app && user && decision === 'cancel') return sendPage(res, cancelledPage(app, attempt));
    if (!app || !user || decision !== 'accept') return redirectWithin(res, stepUrl(attempt));
    session.accept(attempt.appId);
    returnToApp(context, res, session, attempt, user.user_id, 303);
  });

/** GET /sandbox/logout: logs the browser out, and goes on to choose another user if a login is in progress. */
export const logOut =
  (context: SandboxContext): RequestHandler =>
  (req, res) => {
    const session = context.sessions.find(req);
    session?.logOut();
    const attempt = session?.attempt(stringParameter(queryParameters(req), 'attempt'));
    if (attempt) redirectWithin(res, stepUrl(attempt));
    else sendPage(res, loggedOutPage());
  };

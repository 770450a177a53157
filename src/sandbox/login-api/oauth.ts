import type { RequestHandler, Response, Router } from 'express';
import express from 'express';
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
import { bodyParameters, queryParameters, stringParameter } from '../request.js';
import { type BrowserSession, type LoginAttempt, setUser } from './browser-sessions.js';

/**
 * Where an accepted login leads: the redirect URL of the app, which must have one. `?auth_key=` is appended
 * literally, and nothing else (field notes).
 */
export const callbackUrl = (
  { credentials }: SandboxContext,
  { app_id, redirect_url }: Readonly<SeedApp>,
  userId: string,
): string => `${redirect_url}?auth_key=${credentials.issueAuthKey(app_id, userId)}`;

type Field = (name: string) => string;
type Step = (res: Response, session: BrowserSession, attempt: LoginAttempt, field: Field) => void;

const stepUrl = ({ id }: LoginAttempt): `/${string}` => `/sandbox/login?attempt=${id}`;

/** GET /api/oauth, opened in the user's browser (spec, "Interface B"), and the pages that follow it. */
export function oauthRouter(context: SandboxContext): Router {
  const { data, sessions } = context;
  const peopleOf = (session: BrowserSession, attempt: LoginAttempt) => ({
    app: data.apps.find(({ app_id }) => app_id === attempt.appId),
    user: data.users.find(({ user_id }) => user_id === session.userId),
  });

  const showStep: Step = (res, session, attempt) => {
    const { app, user } = peopleOf(session, attempt);
    const formTarget = app?.redirect_url;
    if (!app) sendPage(res, unknownAppPage(), { status: 404 });
    else if (formTarget === undefined) sendPage(res, registerPage(app), { status: 400 });
    else if (!user) sendPage(res, loginPage(app, data.users, attempt), { formTarget });
    else if (session.accepted.has(app.app_id)) returnToApp(res, session, attempt, 302);
    else sendPage(res, consentPage(app, user, attempt), { formTarget });
  };

  /** Sends the browser to the app. Not through `res.redirect`, which would encode the URL again. */
  const returnToApp = (
    res: Response,
    session: BrowserSession,
    attempt: LoginAttempt,
    status: number,
  ) => {
    const { app, user } = peopleOf(session, attempt);
    if (!app?.redirect_url || !user) return redirectWithin(res, stepUrl(attempt));
    session.accepted.add(app.app_id);
    session.attempts.delete(attempt.id);
    const Location = callbackUrl(context, app, user.user_id);
    const headers = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' };
    res.writeHead(status, { Location, ...headers }).end();
  };

  /**
   * Takes a step of the attempt that the `attempt` parameter names. It must be an attempt of this very
   * browser, so a form that another site made cannot accept an app in the user's name.
   */
  const step =
    (take: Step): RequestHandler =>
    (req, res) => {
      const parameters = req.method === 'POST' ? bodyParameters(req) : queryParameters(req);
      const field = (name: string) => stringParameter(parameters, name);
      const session = sessions.find(req);
      const attempt = sessions.attemptOf(session, field('attempt'));
      if (session && attempt) take(res, session, attempt, field);
      else sendPage(res, outdatedPage(), { status: 400 });
    };

  const router = express.Router();
  const form = express.urlencoded({ extended: false });
  // Every other query parameter is dropped; there is no `state`.
  router.get('/api/oauth', (req, res) => {
    const appId = stringParameter(queryParameters(req), 'app_id');
    const { session, attempt } = sessions.start(req, res, appId);
    showStep(res, session, attempt, () => '');
  });
  router.get('/sandbox/login', step(showStep));
  const logIn = step((res, session, attempt, field) => {
    const user = data.users.find(({ user_id }) => user_id === field('user_id'));
    if (user) setUser(session, user.user_id);
    redirectWithin(res, stepUrl(attempt));
  });
  const decide = step((res, session, attempt, field) => {
    const { app, user } = peopleOf(session, attempt);
    const decision = field('decision');
    if (decision === 'accept') returnToApp(res, session, attempt, 303);
    // Cancel sends nothing to the app.
    else if (app && user && decision === 'cancel') sendPage(res, cancelledPage(app, attempt));
    else redirectWithin(res, stepUrl(attempt));
  });
  router.post('/sandbox/login', form, context.record.bodies, logIn);
  router.post('/sandbox/consent', form, context.record.bodies, decide);
  // Goes on to choose another user if a login is in progress.
  router.get('/sandbox/logout', (req, res) => {
    const session = sessions.find(req);
    if (session) setUser(session, undefined);
    const attempt = sessions.attemptOf(session, stringParameter(queryParameters(req), 'attempt'));
    if (attempt) redirectWithin(res, stepUrl(attempt));
    else sendPage(res, loggedOutPage());
  });
  return router;
}

import { randomBytes } from 'node:crypto';
import { parseCookie } from 'cookie';
import type { Request, RequestHandler, Response, Router } from 'express';
import express from 'express';
import { LRUCache } from 'lru-cache';
import type { SandboxContext } from '../context.js';
import type { SeedApp } from '../data/schema.js';
import { sendPage } from '../pages.js';
import { bodyParameters, fieldOf, form, queryParameters, type ReadField } from '../request.js';
import {
  cancelledPage,
  consentPage,
  loggedOutPage,
  loginPage,
  outdatedPage,
  registerPage,
  unknownAppPage,
} from './pages.js';

/** One browser at the sandbox. */
interface BrowserSession {
  userId: string | undefined;
  /** The apps that this user has accepted: with `rememberedConsent`, visits of these are redirected at once. */
  readonly accepted: Set<string>;
}

/** A visit to /api/oauth that is not decided yet. Its id is the token of the forms. */
interface Attempt {
  readonly id: string;
  readonly session: BrowserSession;
  readonly appId: string;
  readonly state: string;
}

/**
 * Where an accepted login leads: the redirect URL of the app, which must have one. `?auth_key=` is appended
 * literally, and nothing else (field notes), unless `echoState` sends the `state` back.
 */
export function callbackUrl(
  { credentials, dialect }: SandboxContext,
  { app_id, redirect_url }: Readonly<SeedApp>,
  userId: string,
  state = '',
): string {
  const echo = dialect.echoState && state ? `&state=${encodeURIComponent(state)}` : '';
  return `${redirect_url}?auth_key=${credentials.issueAuthKey(app_id, userId)}${echo}`;
}

const newId = (): string => randomBytes(16).toString('hex');

/** Cookies ignore ports, and two sandboxes often share a host, so the name carries the port. */
const cookieName = (req: Request): string => `sandbox_session_${req.socket.localPort ?? 0}`;

const fieldsOf = (req: Request): ReadField =>
  fieldOf(req.method === 'POST' ? bodyParameters(req) : queryParameters(req));

/** Logs a user in, or out. Consents are asked for again, which is what a developer wants to see. */
function setUser(session: BrowserSession, userId: string | undefined): void {
  session.userId = userId;
  session.accepted.clear();
}

/** Goes on to the page of the next step, so that a reload does not send a form again. */
const showNext = (res: Response, { id }: Attempt): void =>
  res.redirect(303, `/sandbox/login?attempt=${id}`);

/** GET /api/oauth, opened in the user's browser (spec, "Endpoints"), and the pages that follow it. */
export function oauthRouter(context: SandboxContext): Router {
  const { data, dialect } = context;
  /** The browsers that log in, and what they have begun. The oldest are forgotten first. */
  const sessions = new LRUCache<string, BrowserSession>({ max: 1000 });
  const attempts = new LRUCache<string, Attempt>({ max: 10_000 });
  const sessionOf = (req: Request): BrowserSession | undefined =>
    sessions.get(parseCookie(req.headers.cookie ?? '')[cookieName(req)] ?? '');
  const appOf = ({ appId }: Attempt) => data.apps.find(({ app_id }) => app_id === appId);
  const userOf = ({ session }: Attempt) =>
    data.users.find(({ user_id }) => user_id === session.userId);

  const showStep = (res: Response, attempt: Attempt): void => {
    const [app, user] = [appOf(attempt), userOf(attempt)];
    if (!app) sendPage(res, unknownAppPage());
    else if (app.redirect_url === undefined) sendPage(res, registerPage(app));
    else if (!user) sendPage(res, loginPage(app, data.users, attempt.id));
    else if (dialect.rememberedConsent && attempt.session.accepted.has(app.app_id))
      returnToApp(res, attempt, app, user.user_id, 302);
    else sendPage(res, consentPage(app, user, attempt.id));
  };

  /** Sends the browser to the app. Not through `res.redirect`, which would encode the URL again. */
  const returnToApp = (
    res: Response,
    { id, session, state }: Attempt,
    app: Readonly<SeedApp>,
    userId: string,
    status: number,
  ): void => {
    session.accepted.add(app.app_id);
    attempts.delete(id);
    const Location = callbackUrl(context, app, userId, state);
    const headers = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' };
    res.writeHead(status, { Location, ...headers }).end();
  };

  /**
   * Takes a step of the attempt that the `attempt` parameter names. It must be an attempt of this very
   * browser, so a form that another site made cannot accept an app in the user's name.
   */
  const step =
    (take: (res: Response, attempt: Attempt, field: ReadField) => void): RequestHandler =>
    (req, res) => {
      const field = fieldsOf(req);
      const attempt = attempts.get(field('attempt'));
      if (attempt && attempt.session === sessionOf(req)) take(res, attempt, field);
      else sendPage(res, outdatedPage());
    };

  const router = express.Router();
  // Every other query parameter is dropped.
  router.get('/api/oauth', (req, res) => {
    const field = fieldsOf(req);
    let session = sessionOf(req);
    if (!session) {
      const id = newId();
      session = { userId: undefined, accepted: new Set() };
      sessions.set(id, session);
      res.cookie(cookieName(req), id, { httpOnly: true, sameSite: 'lax' });
    }
    const attempt = { id: newId(), session, appId: field('app_id'), state: field('state') };
    attempts.set(attempt.id, attempt);
    showStep(res, attempt);
  });
  router.get('/sandbox/login', step(showStep));
  const logIn = step((res, attempt, field) => {
    const user = data.users.find(({ user_id }) => user_id === field('user_id'));
    if (user) setUser(attempt.session, user.user_id);
    showNext(res, attempt);
  });
  const decide = step((res, attempt, field) => {
    const [app, user] = [appOf(attempt), userOf(attempt)];
    const decision = field('decision');
    if (app?.redirect_url && user && decision === 'accept')
      returnToApp(res, attempt, app, user.user_id, 303);
    // Cancel sends nothing to the app.
    else if (app && user && decision === 'cancel') sendPage(res, cancelledPage(app, attempt.id));
    else showNext(res, attempt);
  });
  router.post('/sandbox/login', form, logIn);
  router.post('/sandbox/consent', form, decide);
  // Goes on to choose another user if a login is in progress.
  router.get('/sandbox/logout', (req, res) => {
    const session = sessionOf(req);
    if (session) setUser(session, undefined);
    const attempt = attempts.get(fieldsOf(req)('attempt'));
    if (attempt && attempt.session === session) showNext(res, attempt);
    else sendPage(res, loggedOutPage());
  });
  return router;
}

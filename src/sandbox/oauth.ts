import { randomBytes } from 'node:crypto';
import { parse } from 'cookie';
import type { Request, RequestHandler, Response, Router } from 'express';
import express from 'express';
import { lru } from '../lru.js';
import { callbackUrl } from './callback.js';
import type { SandboxContext } from './context.js';
import {
  cancelledPage,
  consentPage,
  loginPage,
  outdatedPage,
  registerPage,
  unknownAppPage,
} from './oauth-pages.js';
import { sendPage } from './pages.js';
import { bodyParameters, fieldOf, form, queryParameters, type ReadField } from './request.js';
import type { SeedApp } from './schema.js';

/** A visit to /api/oauth that is not decided yet. Its id is the token of the forms. */
interface Attempt {
  readonly id: string;
  /** The browser that began it, by its cookie. */
  readonly browser: string;
  readonly appId: string;
  readonly state: string;
  /** Who has logged in. Each visit asks, unless `rememberedConsent` knows. */
  userId: string | undefined;
}

const newId = (): string => randomBytes(16).toString('hex');

/** Cookies ignore ports, and two sandboxes often share a host, so the name carries the port. */
const cookieName = (req: Request): string => `sandbox_session_${req.socket.localPort ?? 0}`;

const fieldsOf = (req: Request): ReadField =>
  fieldOf(req.method === 'POST' ? bodyParameters(req) : queryParameters(req));

/** Goes on to the page of the next step, so that a reload does not send a form again. */
const showNext = (res: Response, { id }: Attempt): void =>
  res.redirect(303, `/sandbox/login?attempt=${id}`);

/** GET /api/oauth, opened in the user's browser (spec, "Endpoints"), and the pages that follow it. */
export function oauthRouter(context: SandboxContext): Router {
  const { data, dialect } = context;
  // The oldest are forgotten first.
  const attempts = lru<string, Attempt>(10_000);
  /** Who accepted an app last, by browser and app. */
  const consents = lru<string, string>(10_000);
  const browserOf = (req: Request) => parse(req.headers.cookie ?? '')[cookieName(req)];
  const consentKey = ({ browser, appId }: Attempt) => `${browser} ${appId}`;
  const appOf = ({ appId }: Attempt) => data.apps.find(({ app_id }) => app_id === appId);
  const userOf = ({ userId }: Attempt) => data.users.find(({ user_id }) => user_id === userId);

  const showStep = (res: Response, attempt: Attempt): void => {
    const [app, user] = [appOf(attempt), userOf(attempt)];
    if (!app) sendPage(res, unknownAppPage());
    else if (app.redirect_url === undefined) sendPage(res, registerPage(app));
    else if (!user) sendPage(res, loginPage(app, data.users, attempt.id));
    else sendPage(res, consentPage(app, user, attempt.id));
  };

  /** Sends the browser to the app. Not through `res.redirect`, which would encode the URL again. */
  const returnToApp = (res: Response, attempt: Attempt, app: Readonly<SeedApp>, userId: string) => {
    attempts.delete(attempt.id);
    consents.set(consentKey(attempt), userId);
    const Location = callbackUrl(context, app, userId, attempt.state);
    const headers = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' };
    res.writeHead(res.req.method === 'POST' ? 303 : 302, { Location, ...headers }).end();
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
      if (attempt && attempt.browser === browserOf(req)) take(res, attempt, field);
      else sendPage(res, outdatedPage());
    };

  const router = express.Router();
  // Every other query parameter is dropped.
  router.get('/api/oauth', (req, res) => {
    const field = fieldsOf(req);
    const browser = browserOf(req) || newId();
    res.cookie(cookieName(req), browser, { httpOnly: true, sameSite: 'lax' });
    const begun = { id: newId(), browser, appId: field('app_id'), state: field('state') };
    const attempt: Attempt = { ...begun, userId: undefined };
    if (dialect.rememberedConsent) attempt.userId = consents.get(consentKey(attempt));
    attempts.set(attempt.id, attempt);
    const [app, user] = [appOf(attempt), userOf(attempt)];
    if (app?.redirect_url && user) returnToApp(res, attempt, app, user.user_id);
    else showStep(res, attempt);
  });
  router.get('/sandbox/login', step(showStep));
  const logIn = step((res, attempt, field) => {
    attempt.userId = field('user_id');
    showNext(res, attempt);
  });
  const decide = step((res, attempt, field) => {
    const [app, user] = [appOf(attempt), userOf(attempt)];
    const decision = field('decision');
    if (app?.redirect_url && user && decision === 'accept')
      returnToApp(res, attempt, app, user.user_id);
    // Cancel sends nothing to the app.
    else if (app && user && decision === 'cancel') sendPage(res, cancelledPage(app, attempt.id));
    else showNext(res, attempt);
  });
  router.post('/sandbox/login', form, logIn);
  router.post('/sandbox/consent', form, decide);
  return router;
}

import type { RequestHandler, Router } from 'express';
import express from 'express';
import { faultsBeforeAnswer, sendOutage } from '../answer.js';
import type { SandboxContext } from '../context.js';
import { authorize } from './authorize.js';
import { getUserInfo } from './get-user-info.js';
import { decide, logIn, logOut, oauth, showLogin } from './oauth.js';

/** The `htmlOutage` dialect: a page about the outage, with HTTP 200. */
const outage =
  ({ dialect }: SandboxContext): RequestHandler =>
  (_req, res, next) => {
    if (!dialect.htmlOutage) return next();
    sendOutage(res, 200, 'Maintenance', 'Error establishing a database connection.');
  };

/** The login API, version 1.1 (spec, "Interface B ({auth_url})"), and its pages. */
export function loginApiRouter(context: SandboxContext): Router {
  const router = express.Router();
  const front = [faultsBeforeAnswer(context), outage(context)];
  const form = [express.urlencoded({ extended: false }), context.record.bodies];

  router.get('/api/oauth', oauth(context));
  router.post('/api/authorize', front, form, authorize(context));
  router.get('/api/authorize', front, authorize(context));
  router.get('/api/get_user_info', front, getUserInfo(context));

  router.get('/sandbox/login', showLogin(context));
  router.post('/sandbox/login', form, logIn(context));
  router.post('/sandbox/consent', form, decide(context));
  router.get('/sandbox/logout', logOut(context));
  return router;
}

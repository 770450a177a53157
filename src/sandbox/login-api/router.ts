import type { RequestHandler, Router } from 'express';
import express from 'express';
import type { SandboxContext } from '../context.js';
import { faultsBeforeAnswer } from '../faults/before-answer.js';
import { sendAnswer } from '../faults/send-answer.js';
import { outagePage } from '../pages/outage-page.js';
import { authorize, authorizeByGet } from './authorize.js';
import { getUserInfo } from './get-user-info.js';
import { decide, logIn, logOutOfSandbox, showLogin } from './login-steps.js';
import { oauth } from './oauth.js';

/** The `htmlOutage` dialect: a page about the outage, with HTTP 200. */
const outage =
  ({ dialect }: SandboxContext): RequestHandler =>
  (_req, res, next) => {
    if (!dialect.htmlOutage) return next();
    const body = outagePage('Maintenance', 'Error establishing a database connection.');
    sendAnswer(res, { status: 200, contentType: 'text/html; charset=utf-8', body });
  };

/** Interface B: login with app, version 1.1 (spec, "Interface B ({auth_url})"), and its pages. */
export function loginApiRouter(context: SandboxContext): Router {
  const router = express.Router();
  const front = [faultsBeforeAnswer(context), outage(context)];
  const form = [express.urlencoded({ extended: false }), context.record.bodies];

  router.get('/api/oauth', oauth(context));
  router.post('/api/authorize', front, form, authorize(context));
  router.get('/api/authorize', front, authorizeByGet(context));
  router.get('/api/get_user_info', front, getUserInfo(context));

  router.get('/sandbox/login', showLogin(context));
  router.post('/sandbox/login', form, logIn(context));
  router.post('/sandbox/consent', form, decide(context));
  router.get('/sandbox/logout', logOutOfSandbox(context));
  return router;
}

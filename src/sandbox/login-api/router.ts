import type { RequestHandler, Router } from 'express';
import express from 'express';
import { faultsBeforeAnswer, sendOutage } from '../answer.js';
import type { SandboxContext } from '../context.js';
import { bodyParameters, originOf, queryParameters, stringParameter } from '../request.js';
import { sendLoginAnswer, sendLoginJson } from './answers.js';
import { authorize } from './authorize.js';
import { getUserInfo } from './get-user-info.js';
import { oauthRouter } from './oauth.js';

/** The login API, version 1.1 (spec, "Interface B ({auth_url})"), and its pages. */
export function loginApiRouter(context: SandboxContext): Router {
  const { dialect } = context;
  const router = express.Router();
  const form: RequestHandler[] = [express.urlencoded({ extended: false }), context.record.bodies];
  const outage: RequestHandler = (_req, res, next) => {
    if (!dialect.htmlOutage) return next();
    sendOutage(res, 200, 'Maintenance', 'Error establishing a database connection.');
  };
  const front: RequestHandler[] = [faultsBeforeAnswer(context), outage];

  router.all('/api/authorize', ...front, ...form, (req, res) => {
    const isGet = dialect.authorizeMethod === 'get';
    if (req.method !== 'POST' && !isGet) {
      res.setHeader('Allow', 'POST');
      return sendLoginJson(res, dialect, 405, { error: true, message: 'Method Not Allowed' });
    }
    const parameters = isGet ? queryParameters(req) : bodyParameters(req);
    sendLoginAnswer(res, dialect, authorize(context, parameters));
  });
  router.get('/api/get_user_info', ...front, (req, res) => {
    const token = stringParameter(queryParameters(req), 'access_token');
    sendLoginAnswer(res, dialect, getUserInfo(context, token, originOf(req)));
  });

  router.use(oauthRouter(context));
  return router;
}

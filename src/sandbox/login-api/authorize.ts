import type { RequestHandler } from 'express';
import type { SandboxContext } from '../context.js';
import { bodyParameters, isSameSecret, queryParameters, stringParameter } from '../request.js';
import { sendLoginError, sendLoginJson } from './answers.js';

/**
 * POST /api/authorize, form-encoded app_id, app_secret, auth_key → `{access_token}` (spec, "Interface B").
 * Wrong app credentials do not spend the auth_key; its first right use does. GET only where the dialect
 * says so.
 */
export const authorize =
  ({ data, dialect, credentials }: SandboxContext): RequestHandler =>
  (req, res) => {
    const isGet = dialect.authorizeMethod === 'get';
    if (req.method !== 'POST' && !isGet) {
      res.setHeader('Allow', 'POST');
      return sendLoginJson(res, dialect, 405, { error: true, message: 'Method Not Allowed' });
    }
    const parameters = isGet ? queryParameters(req) : bodyParameters(req);
    const appId = stringParameter(parameters, 'app_id');
    const app = data.apps.find(({ app_id }) => app_id === appId);
    if (!app) return sendLoginError(res, dialect, 'invalid app_id');
    if (!isSameSecret(stringParameter(parameters, 'app_secret'), app.app_secret)) {
      return sendLoginError(res, dialect, 'invalid app_secret');
    }
    const token = credentials.exchange(appId, stringParameter(parameters, 'auth_key'));
    if (token === undefined) return sendLoginError(res, dialect, 'invalid auth_key');
    sendLoginJson(res, dialect, 200, { access_token: token });
  };

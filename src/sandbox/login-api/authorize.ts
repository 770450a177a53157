import type { RequestHandler } from 'express';
import type { SandboxContext } from '../context.js';
import { bodyParameters, queryParameters, stringParameter } from '../parameters.js';
import { isSameSecret } from '../same-secret.js';
import { sendLoginError, sendLoginJson } from './errors.js';

/**
 * POST /api/authorize, form-encoded app_id, app_secret, auth_key → `{access_token}` (spec, "Interface B").
 * Wrong app credentials do not spend the auth_key; its first right use does.
 */
export function authorize({ data, dialect, credentials }: SandboxContext): RequestHandler {
  return (req, res) => {
    const parameters =
      dialect.authorizeMethod === 'get' ? queryParameters(req) : bodyParameters(req);
    const appId = stringParameter(parameters, 'app_id');
    const app = data.apps.find((candidate) => candidate.app_id === appId);
    if (!app) return sendLoginError(res, dialect, 'invalid app_id');
    if (!isSameSecret(stringParameter(parameters, 'app_secret'), app.app_secret)) {
      return sendLoginError(res, dialect, 'invalid app_secret');
    }
    const authKey = stringParameter(parameters, 'auth_key');
    const accessToken = credentials.exchange(appId, authKey);
    if (accessToken === undefined) return sendLoginError(res, dialect, 'invalid auth_key');
    sendLoginJson(res, dialect, 200, { access_token: accessToken });
  };
}

/** GET /api/authorize: only where the dialect says so. */
export function authorizeByGet(context: SandboxContext): RequestHandler {
  const exchange = authorize(context);
  return (req, res, next) => {
    if (context.dialect.authorizeMethod === 'get') return exchange(req, res, next);
    res.setHeader('Allow', 'POST');
    const message = 'Method Not Allowed';
    sendLoginJson(res, context.dialect, 405, { error: true, message });
  };
}

import type { SandboxContext } from '../context.js';
import { type Parameters, stringParameter } from '../request.js';
import type { LoginProblem } from './answers.js';

/**
 * POST /api/authorize, form-encoded app_id, app_secret, auth_key → `{access_token}` (spec, "Interface B").
 * Wrong app credentials do not spend the auth_key; its first right use does.
 */
export function authorize(
  { data, credentials }: SandboxContext,
  parameters: Parameters,
): object | LoginProblem {
  const appId = stringParameter(parameters, 'app_id');
  const app = data.apps.find(({ app_id }) => app_id === appId);
  if (!app) return 'invalid app_id';
  const secret = stringParameter(parameters, 'app_secret');
  if (secret !== app.app_secret) return 'invalid app_secret';
  const token = credentials.exchange(appId, stringParameter(parameters, 'auth_key'));
  return token === undefined ? 'invalid auth_key' : { access_token: token };
}

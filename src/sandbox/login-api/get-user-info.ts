import type { RequestHandler } from 'express';
import type { SandboxContext } from '../context.js';
import { originOf } from '../origin.js';
import { queryParameters, stringParameter } from '../parameters.js';
import { sendLoginError, sendLoginJson } from './errors.js';
import { driftedUserInfo, userInfoResource } from './user-info-resource.js';

/**
 * GET /api/get_user_info?access_token → `{user_info}` (spec, "Interface B"). A token that ran out says
 * "expired access_token"; a user who is gone is an empty array (field notes).
 */
export function getUserInfo({ data, dialect, credentials }: SandboxContext): RequestHandler {
  return (req, res) => {
    const token = credentials.inspect(stringParameter(queryParameters(req), 'access_token'));
    if (token.state !== 'valid') return sendLoginError(res, dialect, `${token.state} access_token`);
    const user = data.users.find((candidate) => candidate.user_id === token.userId);
    if (!user || dialect.vanishedUser) return sendLoginJson(res, dialect, 200, []);
    const info = userInfoResource(user, originOf(req));
    sendLoginJson(res, dialect, 200, { user_info: driftedUserInfo(info, dialect) });
  };
}

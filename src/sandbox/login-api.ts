import type { RequestHandler, Response, Router } from 'express';
import express from 'express';
import type { SandboxContext } from './context.js';
import { faultsBeforeAnswer, sendErrorPage, sendJson } from './faults.js';
import { localised } from './localised.js';
import { pictureUrl } from './media.js';
import { oauthRouter } from './oauth.js';
import {
  bodyParameters,
  fieldOf,
  form,
  originOf,
  queryParameters,
  type ReadField,
  refuseMethod,
} from './request.js';
import { type SeedUser, USER_FIELDS } from './schema.js';
import type { SandboxDialect } from './switches.js';

/** What an error of the login API names. */
type Problem =
  | `invalid ${'app_id' | 'app_secret' | 'auth_key' | 'access_token'}`
  | 'expired access_token';

/** The login API, version 1.1 of the specification, under {auth_url}, and its pages. */
export function loginApiRouter(context: SandboxContext): Router {
  const { dialect } = context;
  const router = express.Router();
  const outage: RequestHandler = (_req, res, next) => {
    if (!dialect.htmlOutage) return next();
    sendErrorPage(res, 200, 'Maintenance', 'Error establishing a database connection.');
  };
  const front = [faultsBeforeAnswer(context), outage];

  router.all('/api/authorize', ...front, form, (req, res) => {
    const isGet = dialect.authorizeMethod === 'get';
    if (req.method !== 'POST' && !isGet) refuseMethod(res, 'POST');
    const field = fieldOf(isGet ? queryParameters(req) : bodyParameters(req));
    send(context, res, authorize(context, field));
  });
  router.get('/api/get_user_info', ...front, (req, res) => {
    const token = fieldOf(queryParameters(req))('access_token');
    send(context, res, getUserInfo(context, token, originOf(req)));
  });

  router.use(oauthRouter(context));
  router.all(['/api/get_user_info', '/api/oauth'], ...front, (_req, res) =>
    refuseMethod(res, 'GET'),
  );
  return router;
}

/** POST /api/authorize → `{access_token}`. Wrong app credentials do not spend the auth_key; its first right use does. */
function authorize({ data, credentials }: SandboxContext, field: ReadField): object | Problem {
  const app = data.apps.find(({ app_id }) => app_id === field('app_id'));
  if (!app) return 'invalid app_id';
  if (field('app_secret') !== app.app_secret) return 'invalid app_secret';
  const token = credentials.exchange(app.app_id, field('auth_key'));
  return token === undefined ? 'invalid auth_key' : { access_token: token };
}

/** GET /api/get_user_info → `{user_info}`; a user who is gone is an empty array (field notes). */
function getUserInfo(
  { data, dialect, credentials }: SandboxContext,
  accessToken: string,
  origin: string,
): object | Problem {
  const token = credentials.inspect(accessToken);
  if (typeof token === 'string') return `${token} access_token`;
  const user = data.users.find(({ user_id }) => user_id === token.userId);
  return user && !dialect.vanishedUser ? { user_info: userInfoOf(user, origin, dialect) } : [];
}

/** User info: all fields are strings (spec, "User info"). Without pictures in the seed, the sandbox has some. */
function userInfoOf(user: Readonly<SeedUser>, origin: string, dialect: SandboxDialect): object {
  const known: Partial<SeedUser> = {
    ...user,
    user_picture: user.user_picture ?? origin + pictureUrl(user),
    user_cover: user.user_cover ?? origin + pictureUrl(user, 'cover.svg'),
  };
  const fields = USER_FIELDS.map((name) => {
    const isNull = dialect.nulls && !/^user_(id|name|email)$/.test(name);
    return [name, isNull ? null : (known[name] ?? '')];
  });
  return Object.fromEntries(fields);
}

/**
 * Sends what an endpoint gives. The specification shows neither body nor status of an error; this is what the
 * field notes saw: `{error: true, message}`, with HTTP 200 unless `errorStatus` is 'http'.
 */
function send(context: SandboxContext, res: Response, answer: object | Problem): void {
  if (typeof answer === 'object') return void sendJson(context, res, 200, answer);
  const { dialect } = context;
  const [problem = '', name] = answer.split(' ');
  const status = name === 'access_token' ? 401 : 400;
  const words = ['Bad Request', problem].map((text) => localised(text, dialect));
  const message = `${words.join(', ')} ${name}`;
  sendLoginError(context, res, dialect.errorStatus === 'http' ? status : 200, message);
}

/** Answers `{error: true, message}`. */
export function sendLoginError(
  context: SandboxContext,
  res: Response,
  status: number,
  message: string,
): void {
  res.locals.msg = message;
  sendJson(context, res, status, { error: true, message });
}

import { MarketgateError } from '../errors/marketgate-error.js';
import { type Answer, isOutage, unusable } from '../http/http-client.js';
import { redact } from '../http/redact.js';
import { isObject } from '../shape/is-object.js';
import { readShape } from '../shape/read-shape.js';
import { type UserInfo, userInfoSchema } from './user-info.js';

/** POST (or GET) /api/authorize. */
export const AUTHORIZE = '/api/authorize';
/** GET /api/get_user_info. */
export const GET_USER_INFO = '/api/get_user_info';

type Body = Readonly<Record<string, unknown>>;

/** PHP's empty map, `[]`, is an object with nothing in it. */
function asBody({ body }: Answer): Body | undefined {
  if (!body.isJson) return undefined;
  if (Array.isArray(body.value) && body.value.length === 0) return {};
  return isObject(body.value) ? body.value : undefined;
}

const isError = ({ error }: Body): boolean => Boolean(error);

/** The service's sentence, in quotes, fit for an error message; or nothing. */
function sentence(body: Body, secrets: readonly string[]): string {
  const said = saidBy(body);
  return said === undefined ? '' : `: "${redact(said, secrets)}"`;
}

/** What the service gives as its reason: `message`, or a sentence in `error` itself. */
function saidBy({ message, error }: Body): string | undefined {
  if (typeof message === 'string') return message;
  return typeof error === 'string' ? error : undefined;
}

/**
 * What an answer to the exchange means: the access_token, or why there is none. The specification
 * shows no errors; deployments answer `{error, message}`, mostly with HTTP 200.
 */
export function judgeAuthorize(what: string, answer: Answer, secrets: readonly string[]): string {
  const body = asBody(answer);
  if (body === undefined) throw unusable(what, answer);
  const { access_token } = body;
  if (typeof access_token === 'string' && access_token.trim() !== '' && !isError(body)) {
    return access_token;
  }
  if (isOutage(answer)) throw unusable(what, answer);
  const said = sentence(body, secrets);
  if (/app_?\s?-?(id|secret)/i.test(saidBy(body)?.slice(0, 1000) ?? '')) {
    throw new MarketgateError(
      'app_credentials_rejected',
      `${what}: the service does not accept this app${said}; compare "appId" and "appSecret" with the developer dashboard`,
    );
  }
  throw new MarketgateError(
    'auth_key_rejected',
    `${what}: the service gave no access_token for this auth_key${said}; it works once, so the visitor must log in again`,
  );
}

/** What an answer to get_user_info means: who the user is, or why that is not known. */
export function judgeUserInfo(what: string, answer: Answer, secrets: readonly string[]): UserInfo {
  const body = asBody(answer);
  if (body === undefined) throw unusable(what, answer);
  const user = body.user_info;
  const shaped =
    isObject(user) && !isError(body)
      ? readShape(userInfoSchema, user, GET_USER_INFO, 'user_info')
      : undefined;
  if (shaped?.ok) return shaped.value as UserInfo;
  if (isOutage(answer)) throw unusable(what, answer);
  if (shaped !== undefined) {
    throw new MarketgateError(
      'unexpected_response',
      `${what}: the answer is not of the documented shape: ${redact(shaped.problem, secrets)}`,
    );
  }
  if (isError(body) || typeof body.message === 'string') {
    throw new MarketgateError(
      'access_token_expired',
      `${what}: the service does not accept this access_token any more${sentence(body, secrets)}; the visitor must log in again`,
    );
  }
  if (Array.isArray(user) || (answer.body.isJson && Array.isArray(answer.body.value))) {
    throw new MarketgateError(
      'login_failed',
      `${what}: the service knows no such user any more; the account was deleted or is blocked`,
    );
  }
  throw unusable(what, answer);
}

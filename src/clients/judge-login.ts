import type { DriftReports } from '../diagnostics.js';
import type { MarketgateErrorCode } from '../errors.js';
import { MarketgateError } from '../errors.js';
import { redact } from '../http/failure.js';
import type { Answer } from '../http/meanings.js';
import { describeUnusable, isNotNow, MEANINGS } from '../http/meanings.js';
import type { UserInfo } from '../model/user-info.js';
import { isObject } from '../shape/is-object.js';
import type { ReadUser } from './read-user.js';

/** POST (or GET) /api/authorize. */
export const AUTHORIZE = '/api/authorize';
/** GET /api/get_user_info. */
export const GET_USER_INFO = '/api/get_user_info';

type Body = Readonly<Record<string, unknown>>;

const isEmpty = ({ body }: Answer): boolean =>
  body.isJson && Array.isArray(body.value) && body.value.length === 0;

/** PHP's empty map, `[]`, is an object with nothing in it. */
function asBody(answer: Answer): Body | undefined {
  if (isEmpty(answer)) return {};
  return answer.body.isJson && isObject(answer.body.value) ? answer.body.value : undefined;
}

const isError = ({ error }: Body): boolean => Boolean(error);

/** The service's sentence, in quotes, fit for an error message; or nothing. */
function sentence(body: Body, secrets: readonly string[]): string {
  const said = redact(saidBy(body), secrets);
  return said === '' ? '' : `: "${said}"`;
}

/** What the service gives as its reason: `message`, or a sentence in `error` itself; or nothing. */
function saidBy({ message, error }: Body): string {
  if (typeof message === 'string') return message;
  return typeof error === 'string' ? error : '';
}

/** The kinds of answer that interface B knows, but for the one that everybody hopes for. */
type Kind = Exclude<keyof typeof MEANINGS, 'payload' | 'otherQuestion' | 'no'>;

function kindOf(answer: Answer, body: Body | undefined, misshape: string | undefined): Kind {
  if (isNotNow(answer)) return 'notNow';
  if (body === undefined) return 'notJson';
  if (misshape !== undefined) return 'misshapen';
  if (/app[_\s-]?(id|secret)/i.test(saidBy(body))) return 'refusalOfApp';
  if (isError(body) || typeof body.message === 'string') return 'refusal';
  return isEmpty(answer) || Array.isArray(body.user_info) ? 'nobody' : 'withoutPayload';
}

/**
 * What an answer to the exchange means, by the table in {@link MEANINGS}: the access_token, or why
 * there is none. The specification shows no errors; deployments answer `{error, message}`, mostly
 * with HTTP 200.
 */
export function judgeAuthorize(what: string, answer: Answer, secrets: readonly string[]): string {
  const body = asBody(answer);
  const token = body?.access_token;
  const isToken = typeof token === 'string' && token.trim() !== '';
  if (isToken && body !== undefined && !isError(body)) return token;
  throw failure(what, 'authorize', answer, body, secrets);
}

/**
 * What an answer to get_user_info means, by the table in {@link MEANINGS}: who the user is, or why
 * that is not known.
 */
export function judgeUserInfo(
  what: string,
  answer: Answer,
  secrets: readonly string[],
  readUser: ReadUser,
  drift: DriftReports,
): UserInfo {
  const body = asBody(answer);
  const user = body?.user_info;
  const shaped =
    isObject(user) && body !== undefined && !isError(body)
      ? readUser(user, GET_USER_INFO, drift)
      : undefined;
  if (shaped?.ok) return shaped.value;
  throw failure(what, 'userInfo', answer, body, secrets, shaped?.problem);
}

/** What to say of each meaning, with what the service said. */
const WORDS: { readonly [K in MarketgateErrorCode]?: (said: string) => string } = {
  auth_key_rejected: (said) =>
    `the service gave no access_token for this auth_key${said}; it works once, so the visitor must log in again`,
  app_credentials_rejected: (said) =>
    `the service does not accept this app${said}; compare "appId" and "appSecret" with the developer dashboard`,
  access_token_expired: (said) =>
    `the service does not accept this access_token any more${said}; the visitor must log in again`,
  login_failed: () =>
    'the service knows no such user any more; the account was deleted or is blocked',
};

/** @param misshape where a payload that is there departs from the documented shape. */
function failure(
  what: string,
  column: 'authorize' | 'userInfo',
  answer: Answer,
  body: Body | undefined,
  secrets: readonly string[],
  misshape?: string,
): MarketgateError {
  const meaning = MEANINGS[kindOf(answer, body, misshape)][column];
  const problem =
    WORDS[meaning]?.(sentence(body ?? {}, secrets)) ??
    describeUnusable(answer, misshape && redact(misshape, secrets));
  return new MarketgateError(meaning, `${what}: ${problem}`);
}

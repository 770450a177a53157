import type { MarketgateErrorCode } from '../errors.js';

/** What a response becomes: a positive or a negative answer, or an error with this code. */
type Meaning = 'positive' | 'negative' | MarketgateErrorCode;

const row = <
  const Account extends Meaning | undefined,
  const KeyApi extends Meaning | undefined,
  const Authorize extends Meaning | undefined,
  const UserInfo extends Meaning | undefined,
>(
  account: Account,
  keyApi: KeyApi,
  authorize: Authorize,
  userInfo: UserInfo,
) => ({ account, keyApi, authorize, userInfo });

/** The endpoint has no response of this kind. */
const none = undefined;

/**
 * What each kind of response means, for both clients. Only the service's own words make a negative
 * answer; anything else that keeps us from finding out is an error.
 *
 * A response is of the first kind that fits, from the top. The body counts before the status, because the
 * specification shows no statuses. `kindOf` in each client finds the kind.
 */
// biome-ignore format: the columns make the table
export const MEANINGS = {
  //                    account/details         items, purchases        authorize                   get_user_info

  /** The payload has the documented shape (a purchase also under `item`), `status` is not "error", `error` is not set. */
  payload:          row('positive',             'positive',             'positive',                 'positive'),

  /** The same, but about another purchase code or item than was requested. */
  otherQuestion:    row('unexpected_response',  'unexpected_response',  none,                       none),

  /** HTTP 5xx, 408, 425 or 429, with any other body or an empty list. */
  notNow:           row('service_unavailable',  'service_unavailable',  'service_unavailable',      'service_unavailable'),

  /** Not JSON: a page (also with HTTP 200), an empty or cut body, or text before the JSON other than a BOM and blanks. */
  notJson:          row('unexpected_response',  'unexpected_response',  'unexpected_response',      'unexpected_response'),

  /** `status` is "error" with the documented `msg` in any letter case; or any `msg` with HTTP 404 (account/details: also 401, 403), because some services translate it. */
  negative:         row('api_key_rejected',     'negative',             none,                       none),

  /** A payload that does not have the documented shape. */
  misshapen:        row('unexpected_response',  'unexpected_response',  'auth_key_rejected',        'unexpected_response'),

  /** Any other `msg`; in the login API, `error` or `message`. */
  refusal:          row('service_refused',      'service_refused',      'auth_key_rejected',        'access_token_expired'),

  /** A refusal that names app_id or app_secret. */
  refusalOfApp:     row(none,                   none,                   'app_credentials_rejected', 'access_token_expired'),

  /** `[]` in the place of a user. */
  nobody:           row(none,                   none,                   'auth_key_rejected',        'login_failed'),

  /** JSON with none of these. */
  withoutPayload:   row('unexpected_response',  'unexpected_response',  'auth_key_rejected',        'unexpected_response'),
};

/** The error codes where there is no response to parse, for every endpoint. */
export const WITHOUT_ANSWER = {
  /** The network failed, the deadline ended, or the retry-after gate or the breaker let no request through. */
  notReached: 'service_unavailable',
  /** The response was a redirect (never followed), too large, or compressed. */
  notRead: 'unexpected_response',
} as const satisfies Record<string, MarketgateErrorCode>;

/** A response whose body was parsed as JSON. */
export interface JsonResponse {
  readonly status: number;
  readonly body: JsonBody;
}

/** The body of a response: JSON, or a description of what it is instead, for an error message. */
export type JsonBody =
  | { readonly isJson: true; readonly value: unknown }
  | { readonly isJson: false; readonly what: string };

/**
 * Parses a body as JSON, after a byte order mark and blanks. Other text before the JSON is not skipped:
 * what follows a PHP warning can be cut or altered. The description never quotes the body, which can
 * repeat secrets.
 */
export function parseJson(body: Buffer): JsonBody {
  // `trimStart` also removes the byte order mark.
  const text = body.toString('utf8').trimStart();
  return tryParse(text) ?? { isJson: false, what: describe(text) };
}

function tryParse(text: string): JsonBody | undefined {
  try {
    return { isJson: true, value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function describe(text: string): string {
  if (text === '') return 'an empty body';
  if (/^<(!doctype|html|head|body|\?xml)/i.test(text)) return 'an HTML page';
  const brace = text.search(/[{[]/);
  if (brace > 0 && tryParse(text.slice(brace)) !== undefined) return 'text ahead of the JSON';
  if (text.startsWith('<') || /<(html|body|title)\b/i.test(text)) return 'an HTML page';
  if (brace === 0) return 'broken or cut JSON';
  return brace > 0 ? 'text ahead of the JSON' : 'text that is not JSON';
}

/** Whether a status means "not now": too slow, too early, too many requests, or failed. */
export const isNotNow = ({ status }: { readonly status: number }): boolean =>
  status >= 500 || status === 408 || status === 425 || status === 429;

/**
 * What is wrong with a response that cannot be used, for an error message.
 * @param misshape where the payload differs from the documented shape; free of secrets.
 */
export function describeUnusable(response: JsonResponse, misshape?: string): string {
  const { status, body } = response;
  if (status === 429) return 'too many requests (HTTP 429); ask less often';
  if (isNotNow(response)) return `the service failed (HTTP ${status}); try again later`;
  if (misshape !== undefined) return `the answer is not of the documented shape: ${misshape}`;
  const found = body.isJson ? 'JSON of another shape' : body.what;
  return `expected JSON as documented, got ${found} (HTTP ${status}); check the URL and what stands in front of the service`;
}

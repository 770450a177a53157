import type { MarketgateErrorCode } from '../errors.js';

/** What an answer comes to: itself, the service's *no*, or the code of the error that is thrown. */
type Meaning = 'answer' | 'no' | MarketgateErrorCode;

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

/** A kind of answer that an API does not have. */
const none = undefined;

/**
 * What every kind of answer means: the one place that says so. A *no* is the service's word alone;
 * whatever else keeps us from finding out is an error, and never a *no*.
 *
 * An answer is read by its body first, because the specification shows no statuses: it is of the first
 * kind, from the top, that fits. Each client says which kind fits.
 */
// biome-ignore format: a table is read by its columns
export const MEANINGS = {
  //                    account/details         items, purchases        authorize                   get_user_info

  /** Its payload in the documented shape (a purchase also under `item`), and no word of an error: `status` is not "error", `error` not set. */
  payload:          row('answer',               'answer',               'answer',                   'answer'),

  /** Such a payload, but about another purchase code or item than was asked for. */
  otherQuestion:    row('unexpected_response',  'unexpected_response',  none,                       none),

  /** HTTP 5xx, 408, 425 or 429: not now, whatever else the body says; an empty list too. */
  notNow:           row('service_unavailable',  'service_unavailable',  'service_unavailable',      'service_unavailable'),

  /** Not JSON: a page, also with HTTP 200; nothing; cut; text ahead of the JSON, but for a BOM and blanks. */
  notJson:          row('unexpected_response',  'unexpected_response',  'unexpected_response',      'unexpected_response'),

  /** `status` "error" and the documented `msg`, in any letter case; or any `msg` with HTTP 404 (of account/details also 401, 403): a translated service says all else in its own words. */
  no:               row('api_key_rejected',     'no',                   none,                       none),

  /** A payload, but not of the documented shape. */
  misshapen:        row('unexpected_response',  'unexpected_response',  'auth_key_rejected',        'unexpected_response'),

  /** Another `msg`; in the login API `error`, or a `message`. */
  refusal:          row('service_refused',      'service_refused',      'auth_key_rejected',        'access_token_expired'),

  /** One that names app_id or app_secret. */
  refusalOfApp:     row(none,                   none,                   'app_credentials_rejected', 'access_token_expired'),

  /** `[]` in the place of a user. */
  nobody:           row(none,                   none,                   'auth_key_rejected',        'login_failed'),

  /** JSON with nothing of all this in it. */
  withoutPayload:   row('unexpected_response',  'unexpected_response',  'auth_key_rejected',        'unexpected_response'),
};

/** What it means that there is no answer to read, at every endpoint. */
export const WITHOUT_ANSWER = {
  /** The network failed; the deadline ended; not sent, because the retry-after gate is closed or the breaker open. */
  notReached: 'service_unavailable',
  /** It was not read: a redirect, which is never followed; larger than allowed; compressed. */
  notRead: 'unexpected_response',
} as const satisfies Record<string, MarketgateErrorCode>;

/** An answer as it is read: by its body first, its status second. */
export interface Answer {
  readonly status: number;
  readonly body: JsonBody;
}

/** What the body of an answer was: JSON, or what else, in words fit for an error message. */
export type JsonBody =
  | { readonly isJson: true; readonly value: unknown }
  | { readonly isJson: false; readonly what: string };

/**
 * Reads a body as JSON. A byte order mark and blank space ahead of it are skipped. Other text is not:
 * what a PHP warning precedes can be cut or altered as well. The error only says that there was some,
 * because a body can repeat what was sent.
 */
export function readJson(body: Buffer): JsonBody {
  // `trimStart` counts the mark as blank space, wherever it stands in it.
  const text = body.toString('utf8').trimStart();
  const json = parse(text);
  return json ?? { isJson: false, what: describe(text) };
}

function parse(text: string): JsonBody | undefined {
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
  if (brace > 0 && parse(text.slice(brace)) !== undefined) return 'text ahead of the JSON';
  if (text.startsWith('<') || /<(html|body|title)\b/i.test(text)) return 'an HTML page';
  if (brace === 0) return 'broken or cut JSON';
  return brace > 0 ? 'text ahead of the JSON' : 'text that is not JSON';
}

/** Whether a status says "not now" (too slow, too early, too many, failed), whatever the body says. */
export const isNotNow = ({ status }: { readonly status: number }): boolean =>
  status >= 500 || status === 408 || status === 425 || status === 429;

/**
 * What is wrong with an answer that cannot be used, in words for an error.
 * @param misshape where a payload departs from the documented shape; free of secrets.
 */
export function describeUnusable(answer: Answer, misshape?: string): string {
  const { status, body } = answer;
  if (status === 429) return 'too many requests (HTTP 429); ask less often';
  if (isNotNow(answer)) return `the service failed (HTTP ${status}); try again later`;
  if (misshape !== undefined) return `the answer is not of the documented shape: ${misshape}`;
  const found = body.isJson ? 'JSON of another shape' : body.what;
  return `expected JSON as documented, got ${found} (HTTP ${status}); check the URL and what stands in front of the service`;
}

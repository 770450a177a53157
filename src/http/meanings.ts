import type { MarketgateErrorCode } from '../errors.js';

/** What an answer comes to: itself, the service's *no*, or the error that is thrown. */
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

/** A kind of answer that an interface does not have. */
const none = undefined;

/**
 * What every kind of answer means to who asked: the one place that says so. A *no* is the service's
 * word alone; whatever else keeps us from finding out is an error, and never a *no*.
 *
 * An answer is judged by its body first, for the specification shows no statuses: it is of the first
 * kind, from the top, that fits. Which kind fits is told by `judge.ts` of each interface.
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

  /** Another `msg`; in interface B `error`, or a `message`. */
  refusal:          row('service_refused',      'service_refused',      'auth_key_rejected',        'access_token_expired'),

  /** One that names app_id or app_secret. */
  refusalOfApp:     row(none,                   none,                   'app_credentials_rejected', 'access_token_expired'),

  /** `[]` in the place of a user. */
  nobody:           row(none,                   none,                   'auth_key_rejected',        'login_failed'),

  /** JSON, and nothing of all this in it. */
  withoutPayload:   row('unexpected_response',  'unexpected_response',  'auth_key_rejected',        'unexpected_response'),
};

/** What it means that there is no answer to judge, whoever was asked. */
export const WITHOUT_ANSWER = {
  /** The network failed; the timeout is over; not sent, for a pause was asked for or the breaker is open. */
  notReached: 'service_unavailable',
  /** It was not read: a redirect, which is never followed; larger than allowed; compressed. */
  notRead: 'unexpected_response',
} as const satisfies Record<string, MarketgateErrorCode>;

import { z } from 'zod';
import { amount, boardOf, offOr, oneOf, onOff, type SettingsOf } from './board.js';

/** In minutes. */
const TEN_YEARS = 5_256_000;

/** The switches of {@link SandboxDialect}. */
export const DIALECT = {
  /** Key API. `'http'` (default): errors 401 and 404. `'ok'`: every documented error with HTTP 200. */
  errorStatus: oneOf('HTTP status of documented errors: 401 and 404, or 200', 'http', 'ok'),
  /** Key API. "No Items Found" instead of "No items found". */
  capitalisation: onOff('“No Items Found” instead of “No items found”'),
  /** Key API. `status`, `msg` and `license_type` in another language; `true` means Turkish. */
  localised: oneOf('status, msg and license_type in another language', false, true, 'tr', 'de'),
  /** Key API. `'item'`: validation answers `{status, item: Purchase}` instead of `{status, data: {purchase}}`. */
  validationEnvelope: oneOf('Where validation puts the purchase', 'data', 'item'),
  /** Key API. `tags` is `"a,b,c"`. */
  tagsAsString: onOff('tags is "a,b,c"'),
  /**
   * Key API: `options`, `version`, `demo_link`, `sub_category`, the profile's `heading` and `description`,
   * and `contact.email` are null, and so is `social_links` of the first workspace; other workspaces keep
   * its names with null values. Login API: every field but user_id, user_name and user_email is null.
   */
  nulls: onOff('null where a value is missing'),
  /** Key API. `screenshots` is `{"0": url, "1": url}`, or null where there are none. */
  screenshotsAsObject: onOff('screenshots is an object or null'),
  /** Key API. Timestamps as `2020-02-18T07:42:08.000000Z`. */
  microseconds: onOff('Timestamps with microseconds'),
  /** Key API. Prices and balances as strings with two decimals. */
  numericStrings: onOff('Prices and balances as strings'),
  /** Key API. `supported_until` is also present when it has passed: the reader must compare. */
  supportedUntilPast: onOff('supported_until also when it has passed'),
  /** Key API. items/all answers "No items found" when there is exactly one item. */
  singleItemBug: onOff('“No items found” when there is exactly one'),
  /**
   * Key API. At most this many requests a minute per client address (`true`: 60), then 429 with
   * `Retry-After`, `X-RateLimit-*` and an HTML page, or `{message}` for clients that accept JSON.
   */
  rateLimit: offOr(
    'Requests a minute and address (on: 60), then 429',
    z.int().min(0),
    ' or a whole number of requests per minute',
    true,
    5,
  ),
  /** Key API. A browser's User-Agent is redirected to the home page. */
  browserRedirect: onOff('Redirects a browser’s User-Agent to the home page'),
  /** Key API. A plain HTML 404 on every path. */
  apiDisabled: onOff('An HTML 404 on every path of the key API'),
  /** Key API. 500: an HTML page, `{message}`, or (`true`) whichever the Accept header asks for. */
  crash: oneOf('500 on every path of the key API', false, true, 'html', 'json'),
  /** Key API. On by default: blanks around parameters do not count. Off: they are taken literally. */
  trimming: onOff('Blanks around parameters do not count', true),
  /**
   * Login API. `'ok'` (default): errors are HTTP 200 with `{error: true, message}`. `'http'`: the same body
   * with 400, or 401 for an access_token. `'localised'`: HTTP 200 with a translated sentence.
   */
  errors: oneOf('How the login API refuses', 'ok', 'http', 'localised'),
  /** Login API. `'get'`: the exchange reads its fields from the query only, and GET is accepted. */
  authorizeMethod: oneOf('How the auth_key is exchanged', 'post', 'get'),
  /** Login API. How many minutes a new access_token lives; 60 by default (spec, Limits). */
  tokenMinutes: amount('How long a new access_token lives', 'minutes', TEN_YEARS, 60),
  /**
   * Login API. Authorising again while a token lives returns the same token, its life not extended; an
   * expired token that was replaced reads "invalid", not "expired".
   */
  tokenReuse: onOff('Authorising again gives the same token'),
  /** Login API. `user_registered` is `YYYY-MM-DD HH:MM:SS`. */
  datetimes: onOff('user_registered with a time of day'),
  /** Login API. `user_picture` and `user_cover` are relative paths. */
  relativePictures: onOff('user_picture and user_cover as relative paths'),
  /** Login API. `profile_picture`, `profile_cover` and others next to the documented fields. */
  extraFields: onOff('More fields than documented in user_info'),
  /** Login API. get_user_info answers `[]` with HTTP 200, as for a user who is gone. */
  vanishedUser: onOff('get_user_info answers [], as for a user who is gone'),
  /** Login API. authorize and get_user_info answer an HTML page with HTTP 200. */
  htmlOutage: onOff('The login API answers an HTML page with HTTP 200'),
  /** Login API. Text (`true`) or a byte order mark ahead of the JSON, content type text/html. */
  warnings: oneOf('Text or a byte order mark ahead of the JSON', false, true, 'text', 'bom'),
};

/**
 * How real deployments differ from the specification (field-notes.md): one switch per difference, each
 * off by default, combinable, and changeable while the sandbox runs.
 */
export interface SandboxDialect extends SettingsOf<typeof DIALECT> {}

/** Makes the dialect of one sandbox: the specification's, with `given` switched on. */
export const createDialect = (
  given: Partial<SandboxDialect> | undefined,
  onChange: () => void,
): SandboxDialect => Object.assign(boardOf('dialect', DIALECT, onChange, {}), given);

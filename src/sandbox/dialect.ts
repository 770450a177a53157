import { isNumberFrom, oneOf, onOff, type Switch, switchboard } from './switches.js';

/**
 * How real deployments differ from the specification (field-notes.md): one switch per difference, each
 * off by default, combinable, and changeable while the sandbox runs.
 */
export interface SandboxDialect {
  /** Interface A. `'http'` (default): errors 401 and 404. `'ok'`: every documented error with HTTP 200. */
  errorStatus: 'http' | 'ok';
  /** Interface A. "No Items Found" instead of "No items found". */
  capitalisation: boolean;
  /** Interface A. `status`, `msg` and `license_type` in another language; `true` means Turkish. */
  localised: boolean | 'tr' | 'de';
  /** Interface A. `'item'`: validation answers `{status, item: Purchase}` instead of `{status, data: {purchase}}`. */
  validationEnvelope: 'data' | 'item';
  /** Interface A. `tags` is `"a,b,c"`. */
  tagsAsString: boolean;
  /**
   * Interface A: `options`, `version`, `demo_link`, `sub_category`, `heading`, `description` (of the
   * profile) and `contact.email` are null, and so is `social_links` of the first workspace; the others
   * keep its names with null values. Interface B: every field but user_id, user_name, user_email is null.
   */
  nulls: boolean;
  /** Interface A. `screenshots` is `{"0": url, "1": url}`, or null where there are none. */
  screenshotsAsObject: boolean;
  /** Interface A. Timestamps as `2020-02-18T07:42:08.000000Z`. */
  microseconds: boolean;
  /** Interface A. Prices and balances as strings with two decimals. */
  numericStrings: boolean;
  /** Interface A. `supported_until` is present also when it is already past: the reader must compare. */
  supportedUntilPast: boolean;
  /** Interface A. items/all answers "No items found" when there is exactly one item. */
  singleItemBug: boolean;
  /**
   * Interface A. At most this many requests a minute per client address (`true`: 60), then 429 with
   * `Retry-After`, `X-RateLimit-*` and an HTML page, or `{message}` for who asks for JSON.
   */
  rateLimit: boolean | number;
  /** Interface A. A browser's User-Agent is redirected to the home page. */
  browserRedirect: boolean;
  /** Interface A. A plain HTML 404 on every path. */
  apiDisabled: boolean;
  /** Interface A. 500: an HTML page, `{message}`, or (`true`) whichever the Accept header asks for. */
  crash: boolean | 'html' | 'json';
  /** Interface A. On by default: blanks around parameters do not count. Off: they are taken literally. */
  trimming: boolean;
  /**
   * Interface B. `'ok'` (default): errors are HTTP 200 with `{error: true, message}`. `'http'`: the same
   * body with 400, or 401 for an access_token. `'localised'`: HTTP 200 with a translated sentence.
   */
  errors: 'ok' | 'http' | 'localised';
  /** Interface B. `'get'`: the exchange reads its fields from the query only, and GET is accepted. */
  authorizeMethod: 'post' | 'get';
  /** Interface B. How many minutes a new access_token lives; 60 by default (spec, Limits). */
  tokenMinutes: number;
  /**
   * Interface B. Authorising again while a token lives returns the same token, its life not extended; a
   * token that lapsed and was replaced reads "invalid", not "expired".
   */
  tokenReuse: boolean;
  /** Interface B. `user_registered` is `YYYY-MM-DD HH:MM:SS`. */
  datetimes: boolean;
  /** Interface B. `user_picture` and `user_cover` are relative paths. */
  relativePictures: boolean;
  /** Interface B. `profile_picture`, `profile_cover` and others beside the documented fields. */
  extraFields: boolean;
  /** Interface B. get_user_info answers `[]` with HTTP 200, as for a user who is gone. */
  vanishedUser: boolean;
  /** Interface B. authorize and get_user_info answer an HTML page with HTTP 200. */
  htmlOutage: boolean;
  /** Interface B. Text (`true`) or a byte order mark ahead of the JSON, content type text/html. */
  warnings: boolean | 'text' | 'bom';
}

/** The switches of {@link SandboxDialect}. */
export const DIALECT_SWITCHES: { readonly [K in keyof SandboxDialect]: Switch } = {
  errorStatus: oneOf('http', 'ok'),
  capitalisation: onOff(),
  localised: oneOf(false, true, 'tr', 'de'),
  validationEnvelope: oneOf('data', 'item'),
  tagsAsString: onOff(),
  nulls: onOff(),
  screenshotsAsObject: onOff(),
  microseconds: onOff(),
  numericStrings: onOff(),
  supportedUntilPast: onOff(),
  singleItemBug: onOff(),
  rateLimit: {
    initial: false,
    accepts: (value) => typeof value === 'boolean' || isNumberFrom(0, value),
    expected: 'true, false or a number of requests per minute',
  },
  browserRedirect: onOff(),
  apiDisabled: onOff(),
  crash: oneOf(false, true, 'html', 'json'),
  trimming: onOff(true),
  errors: oneOf('ok', 'http', 'localised'),
  authorizeMethod: oneOf('post', 'get'),
  tokenMinutes: {
    initial: 60,
    accepts: (value) => isNumberFrom(0, value),
    expected: 'a number of minutes',
  },
  tokenReuse: onOff(),
  datetimes: onOff(),
  relativePictures: onOff(),
  extraFields: onOff(),
  vanishedUser: onOff(),
  htmlOutage: onOff(),
  warnings: oneOf(false, true, 'text', 'bom'),
};

/** Makes the dialect of one sandbox: the specification's, with `given` switched on. */
export const createDialect = (given?: Partial<SandboxDialect>): SandboxDialect =>
  switchboard<SandboxDialect>('dialect', DIALECT_SWITCHES, given);

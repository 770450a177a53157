import { isNumberFrom, oneOf, onOff, type Switches, switchboard } from './switches.js';

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
export const DIALECT_SWITCHES: Switches<SandboxDialect> = {
  errorStatus: oneOf('HTTP status of documented errors: 401 and 404, or 200', 'http', 'ok'),
  capitalisation: onOff('“No Items Found” instead of “No items found”'),
  localised: oneOf('status, msg and license_type in another language', false, true, 'tr', 'de'),
  validationEnvelope: oneOf('Where validation puts the purchase', 'data', 'item'),
  tagsAsString: onOff('tags is "a,b,c"'),
  nulls: onOff('null where a value is missing'),
  screenshotsAsObject: onOff('screenshots is an object or null'),
  microseconds: onOff('Timestamps with microseconds'),
  numericStrings: onOff('Prices and balances as strings'),
  supportedUntilPast: onOff('supported_until also when it is over'),
  singleItemBug: onOff('“No items found” when there is exactly one'),
  rateLimit: {
    about: 'Requests a minute and address, then 429',
    initial: false,
    accepts: (value) => typeof value === 'boolean' || isNumberFrom(0, value),
    expected: 'true, false or a number of requests per minute',
    choices: [
      { label: 'off', value: false },
      { label: '60 a minute', value: true },
      { label: '5 a minute', value: 5 },
    ],
  },
  browserRedirect: onOff('Redirects a browser’s User-Agent to the home page'),
  apiDisabled: onOff('An HTML 404 on every path of the key API'),
  crash: oneOf('500 on every path of the key API', false, true, 'html', 'json'),
  trimming: onOff('Blanks around parameters do not count', true),
  errors: oneOf('How the login API says no', 'ok', 'http', 'localised'),
  authorizeMethod: oneOf('How the auth_key is exchanged', 'post', 'get'),
  tokenMinutes: {
    about: 'How long a new access_token lives',
    unit: 'minutes',
    initial: 60,
    accepts: (value) => isNumberFrom(0, value),
    expected: 'a number of minutes',
  },
  tokenReuse: onOff('Authorising again gives the same token'),
  datetimes: onOff('user_registered with a time of day'),
  relativePictures: onOff('user_picture and user_cover as relative paths'),
  extraFields: onOff('More fields than documented in user_info'),
  vanishedUser: onOff('get_user_info answers [], as for a user who is gone'),
  htmlOutage: onOff('The login API answers an HTML page with HTTP 200'),
  warnings: oneOf('Text or a byte order mark ahead of the JSON', false, true, 'text', 'bom'),
};

/** Makes the dialect of one sandbox: the specification's, with `given` switched on. */
export const createDialect = (
  given?: Partial<SandboxDialect>,
  onChange?: () => void,
): SandboxDialect =>
  switchboard<SandboxDialect>('dialect', DIALECT_SWITCHES, {
    given,
    ...(onChange && { onChange }),
  });

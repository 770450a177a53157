import * as z from 'zod/mini';

/**
 * How real deployments differ from the specification: one switch per difference, combinable, and changeable while the
 * sandbox runs. By default, the sandbox does as the specification says.
 */
export interface SandboxDialect {
  /** Key API. Documented errors have HTTP 401 and 404 (`'http'`, default), or 200. */
  errorStatus: 'http' | 'ok';
  /** Key API. "No Items Found" instead of "No items found". */
  capitalisation: boolean;
  /** Key API. `status`, `msg` and `license_type` in Turkish (`true`, `'tr'`) or German. */
  localised: boolean | 'tr' | 'de';
  /** Key API. `'item'`: validation answers `{status, item: Purchase}` instead of `{status, data: {purchase}}`. */
  validationEnvelope: 'data' | 'item';
  /** Key API. `tags` is `"a,b,c"`. */
  tagsAsString: boolean;
  /**
   * Key API: `options`, `version`, `demo_link`, `sub_category`, the profile's `heading` and `description`,
   * and `contact.email` are null, and so is `social_links` of the first workspace; other workspaces keep
   * its names with null values. Login API: every field but user_id, user_name and user_email is null.
   */
  nulls: boolean;
  /** Key API. `screenshots` is `{"0": url, "1": url}`, or null where there are none. */
  screenshotsAsObject: boolean;
  /** Key API. Timestamps as `2020-02-18T07:42:08.000000Z`. */
  microseconds: boolean;
  /** Key API. Prices and balances as strings with two decimals. */
  numericStrings: boolean;
  /** Key API. Support that has ended: `supported_until` is left out (off), or there and in the past (on). */
  supportedUntilPast: boolean;
  /** Key API. items/all answers "No items found" when there is exactly one item. */
  singleItemBug: boolean;
  /**
   * Key API. At most this many requests a minute per client address (`true`: 60), then 429 with
   * `Retry-After`, `X-RateLimit-*` and an HTML page, or `{message}` for clients that accept JSON.
   */
  rateLimit: boolean | number;
  /** Key API. A browser's User-Agent is redirected to the home page. */
  browserRedirect: boolean;
  /** Key API. A plain HTML 404 on every path. */
  apiDisabled: boolean;
  /** Key API. A gateway answers with JSON of its own, `{msg}` or `{code, msg}`; `true` is 404. */
  gatewayErrors: boolean | 404 | 405 | 413 | 415;
  /** Key API. 500: an HTML page, `{message}`, or (`true`) whichever the Accept header asks for. */
  crash: boolean | 'html' | 'json';
  /** Key API. On by default: spaces around parameters are ignored. Off: they are part of the value. */
  trimming: boolean;
  /**
   * Login API. `'ok'` (default): errors are HTTP 200 with `{error: true, message}`. `'http'`: the same body
   * with 400, or 401 for an access_token. `'localised'`: HTTP 200 with a translated sentence. 403 and 422: JSON of
   * another form. `'empty'`: 400 without a body.
   */
  errors: 'ok' | 'http' | 'localised' | 403 | 422 | 'empty';
  /** Login API. `'get'`: the exchange reads its fields from the query only, and GET is accepted. */
  authorizeMethod: 'post' | 'get';
  /** Login API. A new auth_key ends the one before it of the same app and user. */
  oneLiveAuthKey: boolean;
  /** Login API. After a first consent in a browser, its later visits are redirected back at once, without a page. */
  rememberedConsent: boolean;
  /** Login API. A `state` given to /api/oauth comes back with the auth_key. */
  echoState: boolean;
  /** Login API. How many minutes a new access_token lives; 60 by default. */
  tokenMinutes: number;
  /**
   * Login API. Authorising again while a token lives returns the same token, its life not extended; an
   * expired token that was replaced reads "invalid", not "expired".
   */
  tokenReuse: boolean;
  /** Login API. `user_registered` is `YYYY-MM-DD HH:MM:SS`. */
  datetimes: boolean;
  /** Login API. `user_picture` and `user_cover` are relative paths. */
  relativePictures: boolean;
  /** Login API. `profile_picture`, `profile_cover` and others next to the documented fields. */
  extraFields: boolean;
  /** Login API. get_user_info answers `[]` with HTTP 200, as for a user who is gone. */
  vanishedUser: boolean;
  /** Login API. authorize and get_user_info answer an HTML page with HTTP 200. */
  htmlOutage: boolean;
  /** Login API. Text (`true`) or a byte order mark ahead of the JSON, content type text/html. */
  warnings: boolean | 'text' | 'bom';
}

/**
 * The faults of one scope. They combine. The first six happen instead of the service's work, the others to an answer
 * after the work was done, so an auth_key is spent by then.
 */
export interface ScopedFaults {
  /** Milliseconds of real time before anything happens: a number, or the least and the most. 0 by default. */
  latency: number | [least: number, most: number];
  /** Never answers. */
  hang: boolean;
  /** Redirects to another host, with 302 (`true`) or this status. */
  redirect: boolean | 301 | 302 | 303 | 307 | 308;
  /** 429 with `Retry-After`: 30 seconds (`true`), or so many. */
  rateLimit: boolean | number;
  /** Share of requests, 0 to 1, answered 500. Spread evenly, not by chance: 0.5 fails every second one. */
  errorRate: number;
  /** An HTML page with HTTP 200. */
  html: boolean;
  /** A byte order mark ahead of the JSON. */
  bom: boolean;
  /** Warning text ahead of the JSON. */
  warnings: boolean;
  /** A complete HTTP answer whose body is cut in the middle. */
  truncated: boolean;
  /** A body that never ends: as fast as it is read (`true`), or one byte every 50 ms (`'slow'`). */
  endless: boolean | 'slow';
  /** The connection is reset in the middle of the body. */
  reset: boolean;
  /** Limits every fault of the scope to the next so many requests that it hits; then all of them end. */
  times: number | undefined;
}

/** Where faults hit: one API, or the path of one endpoint such as `/api/items/item`. */
export type FaultScope = 'key-api' | 'login-api' | `/${string}`;

/** What can go wrong between a client and the service, on the endpoints of both APIs; never on pages and media. */
export interface SandboxFaults extends ScopedFaults {
  /**
   * Further faults for one API or one path alone: `faults.at('/api/items/all').hang = true`. They combine with the
   * others; where both set the same one, that of the path comes before that of the API, and that before the general one.
   */
  at(scope: FaultScope): ScopedFaults;
  /** Ends all faults, in every scope. */
  clear(): void;
}

/** One switch: the options, the console, the JSON API and the command line read this. */
export interface Switch<T = unknown> {
  /** What it does when it is on, in a few words. */
  readonly about: string;
  readonly initial: T;
  readonly type: z.ZodMiniType<T>;
  /** Which values it takes, as an error says it. */
  readonly expected: string;
  /** What to choose from in the console; without any, a value is typed in. */
  readonly choices?: readonly T[];
}

type SwitchesOf<Settings> = { readonly [Name in keyof Settings]-?: Switch<Settings[Name]> };

/** A switch with some values to choose from; the first is where it starts. */
const oneOf = <const T extends readonly (string | number | boolean)[]>(
  about: string,
  ...choices: T
): Switch<T[number]> => ({
  about,
  initial: choices[0] as T[number],
  type: z.literal(choices),
  expected: choices.map((choice) => JSON.stringify(choice)).join(', '),
  choices,
});

const onOff = (about: string): Switch<boolean> => oneOf(about, false, true);

/** A switch that is off, on, or a whole number. */
const onOrNumber = (about: string, most: number): Switch<boolean | number> => ({
  about,
  initial: false,
  type: z.union([z.boolean(), z.int().check(z.minimum(0), z.maximum(most))]),
  expected: `true, false or a whole number up to ${most}`,
  choices: [false, true],
});

const amount = (about: string, most: number, initial = 0): Switch<number> => ({
  about,
  initial,
  type: z.number().check(z.minimum(0), z.maximum(most)),
  expected: `a number from 0 to ${most}`,
});

/** In minutes. */
const TEN_YEARS = 5_256_000;
/** A timer of Node.js that is longer fires at once. Not imported: that would split the clients' bundle in two. */
const MAX_TIMER_DELAY = 2 ** 31 - 1;

const DIALECT: SwitchesOf<SandboxDialect> = {
  errorStatus: oneOf('HTTP status of documented errors: 401 and 404, or 200', 'http', 'ok'),
  capitalisation: onOff('“No Items Found” instead of “No items found”'),
  localised: oneOf('status, msg and license_type in another language', false, true, 'tr', 'de'),
  validationEnvelope: oneOf('Where validation puts the purchase', 'data', 'item'),
  tagsAsString: onOff('tags is "a,b,c"'),
  nulls: onOff('null where a value is missing'),
  screenshotsAsObject: onOff('screenshots is an object or null'),
  microseconds: onOff('Timestamps with microseconds'),
  numericStrings: onOff('Prices and balances as strings'),
  supportedUntilPast: onOff('supported_until also when it has passed'),
  singleItemBug: onOff('“No items found” when there is exactly one'),
  rateLimit: onOrNumber('429 after so many requests a minute and address; on is 60', 1e9),
  browserRedirect: onOff('Redirects a browser’s User-Agent to the home page'),
  apiDisabled: onOff('An HTML 404 on every path of the key API'),
  gatewayErrors: oneOf('A gateway answers with JSON of its own', false, true, 404, 405, 413, 415),
  crash: oneOf('500 on every path of the key API', false, true, 'html', 'json'),
  trimming: { ...onOff('Spaces around parameters are ignored'), initial: true },
  errors: oneOf('How the login API refuses', 'ok', 'http', 'localised', 403, 422, 'empty'),
  authorizeMethod: oneOf('How the auth_key is exchanged', 'post', 'get'),
  oneLiveAuthKey: onOff('A new auth_key ends the one before it, of one app and user'),
  rememberedConsent: onOff('Shows its pages once; later visits go back at once'),
  echoState: onOff('A state given to /api/oauth comes back with the auth_key'),
  tokenMinutes: amount('How many minutes a new access_token lives', TEN_YEARS, 60),
  tokenReuse: onOff('Authorising again gives the same token'),
  datetimes: onOff('user_registered with a time of day'),
  relativePictures: onOff('user_picture and user_cover as relative paths'),
  extraFields: onOff('More fields than documented in user_info'),
  vanishedUser: onOff('get_user_info answers [], as for a user who is gone'),
  htmlOutage: onOff('The login API answers an HTML page with HTTP 200'),
  warnings: oneOf('Text or a byte order mark ahead of the JSON', false, true, 'text', 'bom'),
};

const delay = z.number().check(z.minimum(0), z.maximum(MAX_TIMER_DELAY));

const FAULTS: SwitchesOf<ScopedFaults> = {
  latency: {
    about: 'Waits so many milliseconds first; [100,400] is a range',
    initial: 0,
    type: z.union([delay, z.tuple([delay, delay])]),
    expected: `a number from 0 to ${MAX_TIMER_DELAY}, or two as [least, most]`,
  },
  hang: onOff('Never answers'),
  redirect: oneOf('Redirects to another host', false, true, 301, 302, 303, 307, 308),
  // More seconds cannot be said as a date.
  rateLimit: onOrNumber('429 with Retry-After, in seconds; on is 30', 1e12),
  errorRate: amount('Share of requests answered 500, 0 to 1, spread evenly', 1),
  html: onOff('An HTML page with HTTP 200'),
  bom: onOff('A byte order mark ahead of the JSON'),
  warnings: onOff('Warning text ahead of the JSON'),
  truncated: onOff('Cuts the body in the middle, in a complete answer'),
  endless: oneOf('A body that never ends; or one byte at a time', false, true, 'slow'),
  reset: onOff('Resets the connection in the middle of the body'),
  times: {
    about: 'How many requests they hit before they end; empty is no limit',
    initial: undefined,
    type: z.optional(z.int().check(z.minimum(1))),
    expected: 'a whole number of requests, at least 1',
  },
};

const GROUPS = { faults: FAULTS, dialect: DIALECT };

/** Every switch that a sandbox has, with its full name, such as `faults.latency`. */
export const SWITCHES = (['faults', 'dialect'] as const).flatMap((group) =>
  Object.entries<Switch>(GROUPS[group]).map(([key, entry]) => ({
    name: `${group}.${key}`,
    group,
    key,
    entry,
  })),
);

/** Makes a change to a switch, and saves it. */
type SetSwitch = (key: string, make: () => void) => void;

/** @throws TypeError that names the switch, when it does not take the value. */
function checkSwitch(name: string, { type, expected }: Switch, value: unknown): void {
  const isTaken = value === undefined || type.safeParse(value).success;
  if (!isTaken) throw new TypeError(`${name}: expected ${expected}`);
}

/**
 * Puts switches on one object, each as a property; `undefined` and `delete` put a switch back. A misspelt switch or a
 * wrong value throws, because a test that sets a switch nobody reads would pass for the wrong reason.
 *
 * @param nameOf - The full name of a switch.
 * @param methods - What the object can do besides; not among its keys.
 */
function switchObject<Settings extends object, Methods extends object>(
  nameOf: (key: string) => string,
  switches: SwitchesOf<Settings>,
  setSwitch: SetSwitch,
  methods: Methods,
): Settings & Methods {
  const values = Object.create(methods);
  for (const [key, { initial }] of Object.entries<Switch>(switches)) values[key] = initial;
  const set = (property: string | symbol, value: unknown): true => {
    const key = String(property);
    const name = nameOf(key);
    if (!Object.hasOwn(switches, key)) {
      const names = Object.keys(switches).join(', ');
      throw new TypeError(`${name}: there is no such switch; there are ${names}`);
    }
    const entry: Switch = switches[key as keyof Settings];
    checkSwitch(name, entry, value);
    setSwitch(key, () => {
      values[key] = value === undefined ? entry.initial : value;
    });
    return true;
  };
  return new Proxy(values, {
    set: (_values, key, value) => set(key, value),
    deleteProperty: (_values, key) => set(key, undefined),
  });
}

/** Puts all switches of an object back. */
export function putBack(settings: object): void {
  for (const name of Object.keys(settings)) Reflect.deleteProperty(settings, name);
}

/** Makes the dialect of one sandbox: the specification's, with `given` switched on. */
export const createDialect = (given: object | undefined, setSwitch: SetSwitch): SandboxDialect =>
  Object.assign(
    switchObject((key) => `dialect.${key}`, DIALECT, setSwitch, {}),
    given,
  );

/** Makes the faults of one sandbox. `scopes` has those that were asked for; the general ones are under `''`. */
export function createFaults(setSwitch: SetSwitch) {
  const scopes = new Map<string, ScopedFaults>();
  const at = (scope: FaultScope): ScopedFaults => {
    if (!/^(key-api|login-api|\/.*)$/s.test(scope)) {
      throw new TypeError("faults.at: expected 'key-api', 'login-api' or a path");
    }
    const nameOf = (key: string) => `faults.${key}@${scope}`;
    const found = scopes.get(scope) ?? switchObject(nameOf, FAULTS, setSwitch, {});
    scopes.set(scope, found);
    return found;
  };
  const clear = () => setSwitch('faults', () => [...scopes.values()].forEach(putBack));
  const faults = switchObject((key) => `faults.${key}`, FAULTS, setSwitch, { at, clear });
  scopes.set('', faults);
  return { faults: faults as SandboxFaults, scopes };
}

/** The faults of one scope that are on. */
export const faultsOn = (faults: ScopedFaults): Partial<ScopedFaults> =>
  Object.fromEntries(
    Object.entries(faults).filter(
      ([key, value]) => value !== FAULTS[key as keyof ScopedFaults].initial,
    ),
  );

/** The faults and the dialect of one sandbox. */
export interface SwitchGroups {
  readonly faults: SandboxFaults;
  readonly faultScopes: ReadonlyMap<string, ScopedFaults>;
  readonly dialect: SandboxDialect;
}

/**
 * The value of every switch by its full name, as JSON; `null` is "not set". A fault of one scope is called as in
 * `faults.hang@/api/items/all`, and is there while it is on.
 */
export function switchValues(groups: SwitchGroups): Record<string, unknown> {
  const general = SWITCHES.map(({ name, group, key }) => [
    name,
    Reflect.get(groups[group], key) ?? null,
  ]);
  const scoped = [...groups.faultScopes].flatMap(([scope, faults]) =>
    Object.entries(scope && faultsOn(faults)).map(([key, value]) => [
      `faults.${key}@${scope}`,
      value,
    ]),
  );
  return Object.fromEntries([...general, ...scoped]);
}

/**
 * Sets switches from `{ latency: 5, 'dialect.nulls': true, 'hang@/api/items/all': true }`, all or none; `null` puts
 * one back, and all of `faults` or `dialect`.
 *
 * @throws TypeError that names what is wrong.
 */
export function changeSwitches(
  context: SwitchGroups & { readonly change: (make: () => void) => void },
  changes: unknown,
): void {
  if (typeof changes !== 'object' || changes === null || Array.isArray(changes)) {
    throw new TypeError('expected an object of switches');
  }
  const sets = Object.entries(changes).map(([given, change]) => {
    const value: unknown = change ?? undefined;
    if (given === 'faults' && value === undefined) return () => context.faults.clear();
    if (given === 'dialect' && value === undefined) return () => putBack(context.dialect);
    const [base = '', scope] = given.split(/@(.*)/s);
    const { name, group, key, entry } = locate(base, scope !== undefined);
    checkSwitch(scope === undefined ? name : `${name}@${scope}`, entry, value);
    const target = scope === undefined ? context[group] : context.faults.at(scope as FaultScope);
    return () => Object.assign(target, { [key]: value });
  });
  context.change(() => {
    for (const set of sets) set();
  });
}

/** The switch of a name; one that both groups have must be given with its group, or with a scope. */
function locate(given: string, hasScope: boolean) {
  const [found, other] = SWITCHES.filter(
    ({ name, key, group }) =>
      (given === name || given === key) && (!hasScope || group === 'faults'),
  );
  if (!found) {
    const advice = '"marketgate sandbox switches" lists all';
    throw new TypeError(`${given}: there is no such switch; ${advice}`);
  }
  if (other) throw new TypeError(`${given}: there are two; say ${found.name} or ${other.name}`);
  return found;
}

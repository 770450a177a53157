import * as z from 'zod';

/**
 * One switch of a sandbox. Everything that handles switches reads this: the checks of options, the
 * console, the command line, and the types.
 */
export interface Switch<T = unknown> {
  /** What it does when it is on, in a few words. */
  readonly about: string;
  readonly initial: T;
  readonly schema: z.ZodType<T>;
  /** Which values it takes, as an error says it. */
  readonly expected: string;
  /** What to choose from in the console; without any, a number is typed in. `undefined` is "not set". */
  readonly choices?: readonly unknown[];
  /** How the console calls values that a reader would not understand, by their JSON. */
  readonly names?: Readonly<Record<string, string>>;
  /** What a number counts. */
  readonly unit?: string;
}

type Switches = Readonly<Record<string, Switch>>;

/** The values that switches take, by name. */
type SettingsOf<T extends Switches> = {
  -readonly [K in keyof T]: T[K] extends Switch<infer V> ? V : never;
};

/** A switch with several values to choose from; the first is where it starts. */
const oneOf = <const T extends readonly (string | number | boolean)[]>(
  about: string,
  ...choices: T
): Switch<T[number]> => ({
  about,
  initial: choices[0] as T[number],
  schema: z.literal(choices),
  expected: choices.map((choice) => JSON.stringify(choice)).join(', '),
  choices,
});

/** A switch that is on or off; off at first unless `initial` says otherwise. */
const onOff = (about: string, initial = false): Switch<boolean> => ({
  ...oneOf(about, false, true),
  initial,
  expected: 'true or false',
});

/** A switch that is off, on, or a value of `schema`; the console offers some `choices` besides "off". */
const offOr = <T>(
  about: string,
  schema: z.ZodType<T>,
  expected: string,
  ...choices: readonly (T | true)[]
): Switch<T | boolean> => ({
  about,
  initial: false,
  schema: z.union([z.boolean(), schema]),
  expected: `true, false${expected}`,
  choices: [false, ...choices],
});

/** A number from 0 to `most`; `initial` (0 by default) is where it starts. */
const amount = (about: string, unit: string, most: number, initial = 0): Switch<number> => ({
  about,
  unit,
  initial,
  schema: z.number().min(0).max(most),
  expected: `a number from 0 to ${most}`,
});

/** In minutes. */
const TEN_YEARS = 5_256_000;
/** A timer of Node.js that is longer fires at once. Not imported: that would split the clients' bundle in two. */
const MAX_TIMER_DELAY = 2 ** 31 - 1;
/** In bytes: it is made in memory. */
const MAX_BOMB = 2 ** 30;

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
  /** Key API. Support that has ended: `supported_until` is left out (off), or there and in the past (on). */
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
  /** Key API. A gateway or a framework answers with JSON of its own, `{msg}` or `{code, msg}`: 404 (`true`), 405, 413 or 415. */
  gatewayErrors: oneOf(
    'A gateway answers in place of the key API, with JSON of its own',
    false,
    true,
    404,
    405,
    413,
    415,
  ),
  /** Key API. 500: an HTML page, `{message}`, or (`true`) whichever the Accept header asks for. */
  crash: oneOf('500 on every path of the key API', false, true, 'html', 'json'),
  /** Key API. On by default: spaces around parameters are ignored. Off: they are part of the value. */
  trimming: onOff('Spaces around parameters are ignored', true),
  /**
   * Login API. `'ok'` (default): errors are HTTP 200 with `{error: true, message}`. `'http'`: the same body
   * with 400, or 401 for an access_token. `'localised'`: HTTP 200 with a translated sentence. 403 and 422: JSON of
   * another form. `'empty'`: 400 without a body.
   */
  errors: oneOf('How the login API refuses', 'ok', 'http', 'localised', 403, 422, 'empty'),
  /** Login API. `'get'`: the exchange reads its fields from the query only, and GET is accepted. */
  authorizeMethod: oneOf('How the auth_key is exchanged', 'post', 'get'),
  /** Login API. A new auth_key ends the one before it of the same app and user. */
  oneLiveAuthKey: onOff('A new auth_key ends the one before it, of one app and user'),
  /** Login API. After a first consent, later visits are redirected back at once, without a page. */
  rememberedConsent: onOff('Asks for consent once; later visits go back at once'),
  /** Login API. A `state` given to /api/oauth comes back with the auth_key. */
  echoState: onOff('A state given to /api/oauth comes back with the auth_key'),
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
 * How real deployments differ from the specification (field-notes.md): one switch per difference, combinable,
 * and changeable while the sandbox runs. By default, the sandbox does as the specification says.
 */
export interface SandboxDialect extends SettingsOf<typeof DIALECT> {}

/** Header values that a program or a form may choose: Node refuses to send anything else. */
const headerValue = z.string().regex(/^[\x21-\x7e][\x20-\x7e]*$/);

const redirectFault = {
  /** Default: `https://elsewhere.example/`. */
  location: headerValue.optional(),
  /** Default: 302. A 307 or 308 makes a careless client send its form to the other host. */
  status: z.literal([301, 302, 303, 307, 308]).optional(),
};

/** Where a redirect fault leads, and with which status. */
export interface RedirectFault extends z.infer<z.ZodObject<typeof redirectFault>> {}

/** More cannot be said as a date. */
const seconds = z.int().min(0).max(1e12);

const rateLimitFault = {
  /** Seconds; default 30. */
  retryAfter: seconds.optional(),
  /** `'seconds'` (default), or `'http-date'`: a date by the sandbox's clock. */
  form: z.enum(['seconds', 'http-date']).optional(),
};

/** How long a 429 answer asks to wait, and how its header says so. */
export interface RateLimitFault extends z.infer<z.ZodObject<typeof rateLimitFault>> {}

/** Where faults hit: one API, or the path of one endpoint such as `/api/items/item`. */
export type FaultScope = 'key-api' | 'login-api' | `/${string}`;

const only: Switch<FaultScope | undefined> = {
  about: 'Where all of these hit',
  initial: undefined,
  schema: z.union([z.literal(['key-api', 'login-api']), z.templateLiteral(['/', z.string()])]),
  expected: "'key-api', 'login-api' or a path",
  choices: [undefined, 'key-api', 'login-api'],
};

const times: Switch<number | undefined> = {
  about: 'How many requests they hit before they end; empty is no limit',
  unit: 'requests',
  initial: undefined,
  schema: z.int().min(1),
  expected: 'a whole number of requests, at least 1',
};

const delay = z.number().min(0).max(MAX_TIMER_DELAY);

/** The switches of {@link SandboxFaults}. */
export const FAULTS = {
  /** Milliseconds of real time before anything happens: a number, or the least and the most. 0 by default. */
  latency: {
    about: 'Waits before anything happens; [100,400] is a range',
    unit: 'milliseconds',
    initial: 0,
    schema: z.union([delay, z.tuple([delay, delay])]),
    expected: `a number from 0 to ${MAX_TIMER_DELAY}, or two as [least, most]`,
  } as Switch<number | [least: number, most: number]>,
  /** Never answers. */
  hang: onOff('Never answers'),
  /** Redirects to another host: `true`, a location, or a {@link RedirectFault}. */
  redirect: {
    ...offOr(
      'Redirects to another host',
      z.union([headerValue, z.strictObject(redirectFault)]),
      ', a location or { location, status }',
      true,
      { status: 307 },
    ),
    names: { true: 'on (302)', '{"status":307}': 'with the form (307)' },
  },
  /** 429 with `Retry-After`: `true` (30 seconds), a number of seconds, or a {@link RateLimitFault}. */
  rateLimit: {
    ...offOr(
      'Answers 429 with Retry-After',
      z.union([seconds, z.strictObject(rateLimitFault)]),
      ', a whole number of seconds or { retryAfter, form }',
      true,
      { form: 'http-date' },
      1,
    ),
    names: { true: 'for 30 seconds', '{"form":"http-date"}': 'until a date', '1': 'for 1 second' },
  },
  /** Share of requests, 0 to 1, answered 500. Spread evenly, not by chance: 0.5 fails every second one. */
  errorRate: amount('Share of requests answered 500, spread evenly', '0 to 1', 1),
  /** An HTML page with HTTP 200. */
  html: onOff('An HTML page with HTTP 200'),
  /** Another content type: `true` is text/html. */
  contentType: offOr('A wrong content type', headerValue, ' or a content type', true, 'text/plain'),
  /** A byte order mark ahead of the JSON. */
  bom: onOff('A byte order mark ahead of the JSON'),
  /** Warning text ahead of the JSON. */
  warnings: onOff('Warning text ahead of the JSON'),
  /** The right answer followed by blanks, up to this many bytes in all. 0 by default: off. */
  oversize: {
    about: 'Fills the answer up with blanks to this size',
    unit: 'bytes',
    initial: 0,
    schema: z.int().min(0),
    expected: 'a whole number of bytes',
  },
  /** A complete HTTP answer whose body is cut in the middle. */
  truncated: onOff('Cuts the body in the middle, in a complete answer'),
  /** A small gzip answer that unpacks to this many bytes; `true` is 64 MiB. */
  gzipBomb: offOr(
    'Small gzip, large body',
    z.int().min(1).max(MAX_BOMB),
    ` or a whole number of bytes from 1 to ${MAX_BOMB}`,
    true,
  ),
  /** A body that never ends: as fast as it is read (`true`), or one byte every 50 ms (`'slow'`). */
  endless: oneOf('A body that never ends; or one byte at a time', false, true, 'slow'),
  /** The connection is reset in the middle of the body. */
  reset: onOff('Resets the connection in the middle of the body'),
  /** Limits every fault above to one API or one path. */
  only,
  /** Limits every fault above to the next so many requests they hit; then they are cleared. */
  times,
};

export type FaultSettings = SettingsOf<typeof FAULTS>;

/** The faults of one scope: all of {@link SandboxFaults} but `only`. */
export interface ScopedFaults extends Omit<FaultSettings, 'only'> {}

/**
 * What can go wrong between a client and the service. Faults hit the API endpoints of both APIs,
 * never pages and media; they combine. The first six happen instead of the service's work, the others to
 * an answer after the work was done, so an auth_key is spent by then.
 */
export interface SandboxFaults extends FaultSettings {
  /**
   * Further faults for one API or one path alone: `faults.at('/api/items/all').hang = true`. They combine with the
   * others; where both set the same one, that of the path comes before that of the API, and that before the general one.
   */
  at(scope: FaultScope): ScopedFaults;
  /** Ends all faults, in every scope. */
  clear(): void;
}

/** Sets a switch by its full name, or all faults (`faults`): calls `make`, and saves the change. */
type SetSwitch = (name: string, make: () => void) => void;

/**
 * Puts switches on one object, each as a property that can be changed while the sandbox runs; `undefined` and
 * `delete` put a switch back. A misspelt switch or a value that it does not take throws a TypeError that names
 * it, because a test that sets a switch nobody reads would pass for the wrong reason.
 *
 * @param nameOf - The full name of a switch.
 * @param methods - What the object can do besides; not among its keys.
 */
function switchObject<T extends Switches, M extends object>(
  nameOf: (key: string) => string,
  switches: T,
  setSwitch: SetSwitch,
  methods: M,
): SettingsOf<T> & M {
  const values = Object.create(methods);
  for (const [name, { initial }] of Object.entries(switches)) values[name] = initial;
  const set = (key: string | symbol, value: unknown): true => {
    const name = nameOf(String(key));
    const entry = Object.hasOwn(switches, key) ? switches[String(key)] : undefined;
    if (!entry) {
      const names = Object.keys(switches).join(', ');
      throw new TypeError(`${name}: there is no such switch; there are ${names}`);
    }
    checkSwitch(name, entry, value);
    setSwitch(name, () => {
      values[key] = value === undefined ? entry.initial : value;
    });
    return true;
  };
  return new Proxy(values, {
    set: (_values, key, value) => set(key, value),
    deleteProperty: (_values, key) => set(key, undefined),
  });
}

/** @throws TypeError that names the switch, when it does not take the value. */
function checkSwitch(name: string, { schema, expected }: Switch, value: unknown): void {
  const isTaken = value === undefined || schema.safeParse(value).success;
  if (!isTaken) throw new TypeError(`${name}: expected ${expected}`);
}

/** Makes the dialect of one sandbox: the specification's, with `given` switched on. */
export const createDialect = (
  given: Partial<SandboxDialect> | undefined,
  setSwitch: SetSwitch,
): SandboxDialect =>
  Object.assign(
    switchObject((key) => `dialect.${key}`, DIALECT, setSwitch, {}),
    given,
  );

const { only: _only, ...SCOPED_FAULTS } = FAULTS;

/** The faults of each scope that was asked for. */
const scopesOf = new WeakMap<object, Map<string, ScopedFaults>>();

export function createFaults(setSwitch: SetSwitch): SandboxFaults {
  const scopes = new Map<string, ScopedFaults>();
  const at = (scope: FaultScope): ScopedFaults => {
    checkSwitch('faults.at', only, scope ?? '');
    const suffix = `@${scope}`;
    const found =
      scopes.get(scope) ??
      switchObject((key) => `faults.${key}${suffix}`, SCOPED_FAULTS, setSwitch, {});
    scopes.set(scope, found);
    return found;
  };
  const clear = () =>
    setSwitch('faults', () => {
      for (const name of Object.keys(FAULTS)) Reflect.deleteProperty(faults, name);
      for (const each of scopes.values()) {
        for (const name of Object.keys(SCOPED_FAULTS)) Reflect.deleteProperty(each, name);
      }
    });
  const faults: SandboxFaults = switchObject((key) => `faults.${key}`, FAULTS, setSwitch, {
    at,
    clear,
  });
  scopesOf.set(faults, scopes);
  return faults;
}

/** The faults that are on, by scope, the general ones (scope `''`) first; in these scopes, or in all of them. */
export function faultsInForce(
  faults: SandboxFaults,
  scopes: Iterable<string> = scopesOf.get(faults)?.keys() ?? [],
) {
  const isOn = ([key, value]: [string, unknown]) =>
    value !== FAULTS[key as keyof typeof FAULTS].initial;
  return ['', ...scopes].map((scope) => {
    const set = scope === '' ? faults : scopesOf.get(faults)?.get(scope);
    const on: Partial<FaultSettings> = Object.fromEntries(Object.entries(set ?? {}).filter(isOn));
    return { scope, set: set as ScopedFaults, on };
  });
}

/** The faults and the dialect of one sandbox. */
export type SwitchGroups = Readonly<{ faults: SandboxFaults; dialect: object }>;

const switchesOf = (group: keyof SwitchGroups, switches: Readonly<Record<string, Switch>>) =>
  Object.entries(switches).map(([key, entry]) => ({ name: `${group}.${key}`, group, key, entry }));

/** Every switch that a sandbox has, with its full name, such as `faults.latency`. */
export const SWITCHES = [...switchesOf('faults', FAULTS), ...switchesOf('dialect', DIALECT)];

/**
 * The value of every switch by its full name, as JSON; `null` is "not set". A fault of one scope is called as in
 * `faults.hang@/api/items/all`, and is there while it is on.
 */
export const switchValues = (groups: SwitchGroups): Record<string, unknown> =>
  Object.fromEntries([
    ...SWITCHES.map(({ name, group, key }) => [name, Reflect.get(groups[group], key) ?? null]),
    ...faultsInForce(groups.faults).flatMap(({ scope, on }) =>
      Object.entries(scope && on).map(([key, value]) => [`faults.${key}@${scope}`, value]),
    ),
  ]);

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
    if (given === 'dialect' && value === undefined) {
      const back = Object.fromEntries(Object.keys(DIALECT).map((key) => [key, undefined]));
      return () => Object.assign(context.dialect, back);
    }
    const [base = '', scope] = given.split(/@(.*)/s);
    const { name, group, key, entry } = locate(base, scope);
    checkSwitch(scope === undefined ? name : `${name}@${scope}`, entry, value);
    if (scope === undefined) return () => Object.assign(context[group], { [key]: value });
    const scoped = context.faults.at(scope as FaultScope);
    return () => Object.assign(scoped, { [key]: value });
  });
  context.change(() => {
    for (const set of sets) set();
  });
}

/** The switch of a name; one that both groups have must be given with its group, or with a scope. */
function locate(given: string, scope: string | undefined) {
  const [found, other] = SWITCHES.filter(
    ({ name, key, group }) =>
      (given === name || given === key) &&
      (scope === undefined || (group === 'faults' && key !== 'only')),
  );
  if (!found) {
    const advice = '"marketgate sandbox switches" lists all';
    throw new TypeError(`${given}: there is no such switch; ${advice}`);
  }
  if (other) throw new TypeError(`${given}: there are two; say ${found.name} or ${other.name}`);
  return found;
}

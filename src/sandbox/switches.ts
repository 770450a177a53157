/**
 * How real deployments differ from the specification, as far as an app can notice: one switch per difference, combinable,
 * and changeable while the sandbox runs. By default, the sandbox does as the specification says. Any other difference is
 * for the option `answer` of `createSandbox`.
 */
export interface SandboxDialect {
  /**
   * HTTP status of documented errors: 400, 401 and 404 (`'http'`), or 200 (`'ok'`). By default that of most deployments:
   * `'http'` for the key API, `'ok'` for the login API.
   */
  errorStatus: 'http' | 'ok' | undefined;
  /** Error messages, and `status` and `license_type` of the key API, in Turkish (`true`, `'tr'`) or German. */
  localised: boolean | 'tr' | 'de';
  /**
   * Key API: `options`, `version`, `demo_link`, `sub_category`, the profile's `heading` and `description`,
   * and `contact.email` are null, and so is `social_links` of the first workspace; other workspaces keep
   * its names with null values. Login API: every field but user_id, user_name and user_email is null.
   */
  nulls: boolean;
  /** Key API. Support that has ended: `supported_until` is left out (off), or present and in the past (on). */
  supportedUntilPast: boolean;
  /**
   * Key API. At most this many requests a minute per client address (`true`: 60), then 429 with
   * `Retry-After`, `X-RateLimit-*` and an HTML page, or `{message}` for clients that accept JSON.
   */
  rateLimit: boolean | number;
  /** Key API. A plain HTML 404 on every path. */
  apiDisabled: boolean;
  /** Login API. `'get'`: the exchange reads its fields from the query only, and GET is accepted. */
  authorizeMethod: 'post' | 'get';
  /** Login API. How many minutes a new access_token lives; 60 by default. */
  tokenMinutes: number;
  /** Login API. get_user_info answers `[]` with HTTP 200, as for a user who was deleted. */
  vanishedUser: boolean;
  /** Login API. authorize and get_user_info answer an HTML page with HTTP 200. */
  htmlOutage: boolean;
  /** Login API. A new auth_key ends the previous one of the same app and user. */
  oneLiveAuthKey: boolean;
  /** Login API. After a first consent in a browser, its later visits are redirected back at once, without a page. */
  rememberedConsent: boolean;
  /** Login API. A `state` given to /api/oauth comes back with the auth_key. */
  echoState: boolean;
}

/**
 * The faults of one scope. They combine. Up to `html` they happen instead of the service's work, the others to an answer
 * after the work was done, so an auth_key is spent by then.
 */
export interface ScopedFaults {
  /** Milliseconds of real time before anything happens: a number, or the least and the most. 0 by default. */
  latency: number | [least: number, most: number];
  /** Never answers. */
  hang: boolean;
  /** 429 with `Retry-After`: 30 seconds (`true`), or so many. */
  rateLimit: boolean | number;
  /** Share of requests, 0 to 1, answered 500. Spread evenly, not by chance: 0.5 fails every second one. */
  errorRate: number;
  /** An HTML page with HTTP 200. */
  html: boolean;
  /** A complete HTTP answer whose body is cut in the middle. */
  truncated: boolean;
  /** A body that never ends. */
  endless: boolean;
  /** The connection is reset in the middle of the body. */
  reset: boolean;
}

/** Where faults hit: one API, or the path of one endpoint such as `/api/items/item`. */
export type FaultScope = 'key-api' | 'login-api' | `/${string}`;

const FAULT_SCOPES: readonly FaultScope[] = [
  'key-api',
  'login-api',
  '/api/account/details',
  '/api/items/all',
  '/api/items/item',
  '/api/purchases/validation',
  '/api/authorize',
  '/api/get_user_info',
];

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
export interface Switch {
  /** What it does when it is on, in a few words. */
  readonly about: string;
  readonly initial: unknown;
  /** Which values it takes, as an error says it. */
  readonly expected: string;
  readonly takes: (value: unknown) => boolean;
  /** What to choose from in the console; without any, a value is typed in. */
  readonly choices?: readonly unknown[];
}

/** A switch with some values to choose from; the first is where it starts. */
const oneOf = (about: string, ...choices: readonly unknown[]): Switch => ({
  ...{ about, choices, initial: choices[0] },
  expected: choices.flatMap((each) => JSON.stringify(each) ?? []).join(', '),
  takes: (value) => choices.includes(value),
});

const onOff = (about: string): Switch => oneOf(about, false, true);

/** A switch with a value to type in. */
const typed = (
  about: string,
  initial: unknown,
  expected: string,
  takes: (value: unknown) => boolean,
): Switch => ({ about, initial, expected, takes });

const isWithin = (value: unknown, least: number, most: number): boolean =>
  typeof value === 'number' && value >= least && value <= most;

/** A switch that is off, on, or a whole number. */
const onOrNumber = (about: string, most: number): Switch =>
  typed(
    about,
    false,
    `true, false or a whole number up to ${most}`,
    (value) => typeof value === 'boolean' || (Number.isInteger(value) && isWithin(value, 0, most)),
  );

const TEN_YEARS_IN_MINUTES = 5_256_000;
/** A timer of Node.js that is longer fires at once. */
const isDelay = (value: unknown) => isWithin(value, 0, 2 ** 31 - 1);

const DIALECT: Readonly<Record<keyof SandboxDialect, Switch>> = {
  errorStatus: oneOf('HTTP status of documented errors: 4xx, or 200', undefined, 'http', 'ok'),
  localised: oneOf('Messages in another language', false, true, 'tr', 'de'),
  nulls: onOff('null where a value is missing'),
  supportedUntilPast: onOff('supported_until also when it has passed'),
  rateLimit: onOrNumber('429 after so many requests a minute and address; true is 60', 1e9),
  apiDisabled: onOff('An HTML 404 on every path of the key API'),
  authorizeMethod: oneOf('How the auth_key is exchanged', 'post', 'get'),
  tokenMinutes: typed(
    'How many minutes a new access_token lives',
    60,
    'a number of minutes',
    (value) => isWithin(value, 0, TEN_YEARS_IN_MINUTES),
  ),
  vanishedUser: onOff('get_user_info answers [], as for a user who was deleted'),
  htmlOutage: onOff('The login API answers an HTML page with HTTP 200'),
  oneLiveAuthKey: onOff('A new auth_key ends the previous one of the same app and user'),
  rememberedConsent: onOff('Shows its pages once; later visits go back at once'),
  echoState: onOff('A state given to /api/oauth comes back with the auth_key'),
};

const FAULTS: Readonly<Record<keyof ScopedFaults, Switch>> = {
  latency: typed(
    'Waits so many milliseconds first; two are the least and the most',
    0,
    'milliseconds, as in 300 or [100,1000]',
    (value) =>
      isDelay(value) || (Array.isArray(value) && value.length === 2 && value.every(isDelay)),
  ),
  hang: onOff('Never answers'),
  // More seconds cannot be said as a date.
  rateLimit: onOrNumber('429, with so many seconds as Retry-After; true is 30', 1e12),
  errorRate: typed(
    'Share of requests answered 500, 0 to 1, spread evenly',
    0,
    'a number from 0 to 1',
    (value) => isWithin(value, 0, 1),
  ),
  html: onOff('An HTML page with HTTP 200'),
  truncated: onOff('Cuts the body in the middle, in a complete answer'),
  endless: onOff('A body that never ends'),
  reset: onOff('Resets the connection in the middle of the body'),
};

const GROUPS = { faults: FAULTS, dialect: DIALECT };
type Group = keyof typeof GROUPS;

/** Every switch that a sandbox has, with its full name, such as `faults.latency`. */
export const SWITCHES = (['faults', 'dialect'] as const).flatMap((group) =>
  Object.entries<Switch>(GROUPS[group]).map(([key, entry]) => ({
    ...{ name: `${group}.${key}`, group, key, entry },
  })),
);

/** @throws TypeError that names the switch, when it does not take the value. */
function checkSwitch(name: string, { takes, expected }: Switch, value: unknown): void {
  if (value !== undefined && !takes(value)) throw new TypeError(`${name}: expected ${expected}`);
}

/**
 * Puts switches on one object, each as a property; `undefined` puts a switch back. A misspelt switch or a wrong value
 * throws, because a test that sets a switch nobody reads would pass for the wrong reason.
 *
 * @param scope - What its faults are for; `''` for the general ones.
 * @param onChange - Called when a switch is set.
 * @param methods - What the object can do besides; not among its keys.
 */
function switchObject<Settings extends object>(
  group: Group,
  scope: FaultScope | '',
  onChange: () => void,
  methods: object = {},
): Settings {
  const table: Readonly<Record<string, Switch>> = GROUPS[group];
  const values = Object.entries(table).map(([key, { initial }]) => [key, initial]);
  return new Proxy(Object.assign(Object.create(methods), Object.fromEntries(values)), {
    set(target, key, value) {
      const name = `${group}.${String(key)}${scope && `@${scope}`}`;
      const entry = typeof key === 'string' && Object.hasOwn(table, key) ? table[key] : undefined;
      if (entry === undefined) {
        const names = Object.keys(table).join(', ');
        throw new TypeError(`${name}: there is no such switch; there are ${names}`);
      }
      checkSwitch(name, entry, value);
      target[key] = value === undefined ? entry.initial : value;
      onChange();
      return true;
    },
  });
}

/** Puts all switches of an object back. */
function putBack(settings: object): void {
  for (const key of Object.keys(settings)) Reflect.set(settings, key, undefined);
}

/** The faults and the dialect of one sandbox. */
export interface SwitchGroups {
  readonly faults: SandboxFaults;
  /** The faults of each scope that was asked for; the general ones are under `''`. */
  readonly faultScopes: ReadonlyMap<string, ScopedFaults>;
  readonly dialect: SandboxDialect;
}

/** Makes the switches of one sandbox: as the specification has it, with `dialect` switched on. */
export function createSwitches(dialect: object | undefined, onChange: () => void): SwitchGroups {
  const faultScopes = new Map<string, ScopedFaults>();
  const at = (scope: FaultScope): ScopedFaults => {
    if (!FAULT_SCOPES.includes(scope)) {
      throw new TypeError(`faults.at: expected ${FAULT_SCOPES.join(', ')}`);
    }
    const found = faultScopes.get(scope) ?? switchObject<ScopedFaults>('faults', scope, onChange);
    faultScopes.set(scope, found);
    return found;
  };
  const clear = () => [...faultScopes.values()].forEach(putBack);
  const faults = switchObject<SandboxFaults>('faults', '', onChange, { at, clear });
  faultScopes.set('', faults);
  const initial = switchObject<SandboxDialect>('dialect', '', onChange);
  return { faults, faultScopes, dialect: Object.assign(initial, dialect) };
}

/** The faults of one scope that are on. */
export const faultsOn = (faults: Partial<ScopedFaults>): Partial<ScopedFaults> =>
  Object.fromEntries(
    Object.entries(faults).filter(
      ([key, value]) => value !== FAULTS[key as keyof ScopedFaults].initial,
    ),
  );

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

/**
 * Sets switches from `{ latency: 200, 'dialect.nulls': true, 'hang@/api/items/all': true }`, all or none; `null` puts
 * one back, and all of `faults` or `dialect`. A text means what {@link meantBy} says.
 *
 * @throws TypeError that names what is wrong.
 */
export function changeSwitches(
  groups: Pick<SwitchGroups, 'faults' | 'dialect'>,
  changes: unknown,
): void {
  if (typeof changes !== 'object' || changes === null || Array.isArray(changes)) {
    throw new TypeError('expected an object of switches');
  }
  const sets = Object.entries(changes).map(([given, text]) => {
    const change = meantBy(text);
    if (given === 'faults' && change === null) return () => groups.faults.clear();
    if (given === 'dialect' && change === null) return () => putBack(groups.dialect);
    const [base = '', scope] = given.split(/@(.*)/s);
    const { name, group, key, entry } = locate(base, scope !== undefined);
    const value = change ?? undefined;
    checkSwitch(scope === undefined ? name : `${name}@${scope}`, entry, value);
    const target = scope === undefined ? groups[group] : groups.faults.at(scope as FaultScope);
    return () => Object.assign(target, { [key]: value });
  });
  for (const set of sets) set();
}

/** What a text means, as forms and the command line send it: JSON, or the text itself. */
export function meantBy(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

/** A value as such a text. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

/** The switches of {@link switchValues} that are on, as texts: `latency=[100,300]`. */
export function switchesOn(values: object): string[] {
  const initial = new Map(SWITCHES.map(({ name, entry }) => [name, entry.initial ?? null]));
  return Object.entries(values)
    .filter(([name, value]) => value !== initial.get(name))
    .map(([name, value]) => `${name}=${textOf(value)}`);
}

/** The same in one line. */
export const switchesSaid = (values: object): string =>
  switchesOn(values).length > 0 ? `On: ${switchesOn(values).join(', ')}` : 'No switch is on.';

/**
 * Reads `name`, which turns a switch on, `name=value` with a value as in code, and `group.name=value`. A comma before a
 * letter separates two.
 * @param prefix is put ahead of the names that lack it.
 */
export function readSwitches(given: readonly string[] = [], prefix = ''): Record<string, unknown> {
  const switches = given.flatMap((text) => text.split(/,(?=[a-z])/i));
  return Object.fromEntries(
    switches.map((text) => {
      const [, name = '', value = 'true'] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
      return [name.startsWith(prefix) ? name : prefix + name, value];
    }),
  );
}

import fc from 'fast-check';

/** The switches of a service with all their values; the first one is the default. */
export type Switches = Readonly<Record<string, readonly (string | number | boolean)[]>>;

/** One setting of all switches. */
export type Setting = Readonly<Record<string, string | number | boolean>>;

/** What deployments differ in (field-notes), as switches of the key API; `validationEncoding` is the client's. */
export const KEY_API_SWITCHES: Switches = {
  errorStatus: ['http', 'ok'],
  capitalisation: [false, true],
  localised: [false, 'tr', 'de'],
  validationEnvelope: ['data', 'item'],
  tagsAsString: [false, true],
  nulls: [false, true],
  screenshotsAsObject: [false, true],
  microseconds: [false, true],
  numericStrings: [false, true],
  supportedUntilPast: [false, true],
  singleItemBug: [false, true],
  rateLimit: [false, true, 0],
  browserRedirect: [false, true],
  apiDisabled: [false, true],
  gatewayErrors: [false, true, 404, 405, 413, 415],
  crash: [false, 'html', 'json'],
  trimming: [true, false],
  validationEncoding: ['form', 'json', 'query'],
};

/** The same of the login API. */
export const LOGIN_API_SWITCHES: Switches = {
  errors: ['ok', 'http', 'localised'],
  authorizeMethod: ['post', 'get'],
  oneLiveAuthKey: [false, true],
  // These are of the pages: no client sees them.
  rememberedConsent: [false],
  echoState: [false],
  tokenMinutes: [60, 1],
  tokenReuse: [false, true],
  datetimes: [false, true],
  relativePictures: [false, true],
  extraFields: [false, true],
  nulls: [false, true],
  vanishedUser: [false, true],
  htmlOutage: [false, true],
  warnings: [false, 'text', 'bom'],
};

type Choice = readonly [name: string, value: string | number | boolean];

/** Values with which no call is answered. */
const OUTAGES = [
  ...['true', '404', '405', '413', '415'].map((value) => `gatewayErrors ${value}`),
  ...['apiDisabled true', 'crash html', 'crash json', 'rateLimit 0'],
  ...['htmlOutage true', 'vanishedUser true', 'warnings text'],
];
export const isOutage = ([name, value]: Choice): boolean => OUTAGES.includes(`${name} ${value}`);

/**
 * All as specified, and settings in which every pair of values is seen, with nothing that hides it.
 * @param hiding - the switch whose values hide what others do, as outages do.
 */
export function settingsOf(switches: Switches, hiding: string): [string, Setting][] {
  const all = Object.entries(switches).map(([name, values]) =>
    values.map((value): Choice => [name, value]),
  );
  const initial = new Map(all.flatMap(([first]) => (first === undefined ? [] : [first])));
  const hides = (choice: Choice): boolean =>
    isOutage(choice) || (choice[0] === hiding && choice[1] !== false);
  const plain = fc.tuple(
    ...all.map(([first, ...others]) =>
      fc.constantFrom(first as Choice, ...others.filter((choice) => !hides(choice))),
    ),
  );
  const settings: Setting[] = [Object.fromEntries(initial)];
  const shows = (setting: Setting, pair: readonly Choice[]): boolean =>
    pair.every(([name, value]) => setting[name] === value) &&
    Object.entries(setting).filter(hides).length === pair.filter(hides).length;
  for (const [i, ones] of all.entries()) {
    for (const one of ones) {
      for (const other of all.slice(i + 1).flat()) {
        if (settings.some((setting) => shows(setting, [one, other]))) continue;
        const [random = []] = fc.sample(plain, { seed: settings.length, numRuns: 1 });
        settings.push(Object.fromEntries([...random, one, other]));
      }
    }
  }
  return settings.map((setting) => {
    const changed = Object.entries(setting).filter(([name, value]) => initial.get(name) !== value);
    return [changed.map((choice) => choice.join(': ')).join(', ') || 'all as specified', setting];
  });
}

/** Turns the switches, but for those that are an option of the client. */
export function turn(dialect: object, setting: Setting): void {
  const own = Object.entries(setting).filter(([name]) => name in dialect);
  Object.assign(dialect, Object.fromEntries(own));
}

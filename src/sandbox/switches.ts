import { z } from 'zod';

/**
 * One switch of a sandbox. Everything that handles switches reads this: the checks of options, the
 * console, the command line, and the types.
 */
export interface Switch<T = unknown> {
  /** What it does when it is on, in a few words. */
  readonly about: string;
  readonly initial: T;
  readonly accepts: (value: unknown) => boolean;
  /** Which values it takes, as an error says it. */
  readonly expected: string;
  /** What to choose from in the console; without any, a number is typed in. `undefined` is "not set". */
  readonly positions?: readonly unknown[];
  /** What a number counts. */
  readonly unit?: string;
}

export type Switches = Readonly<Record<string, Switch>>;

/** The values that switches take, by name. */
export type SettingsOf<T extends Switches> = {
  -readonly [K in keyof T]: T[K] extends Switch<infer V> ? V : never;
};

/** A switch with named positions; the first is where it starts. */
export const oneOf = <const T extends readonly (string | boolean)[]>(
  about: string,
  ...positions: T
): Switch<T[number]> => ({
  about,
  initial: positions[0] as T[number],
  accepts: (value) => positions.some((position) => position === value),
  expected: positions.map((position) => JSON.stringify(position)).join(', '),
  positions,
});

/** A switch that is on or off; off at first unless `initial` says otherwise. */
export const onOff = (about: string, initial = false): Switch<boolean> => ({
  ...oneOf(about, false, true),
  initial,
  expected: 'true or false',
});

/** A switch that is off, on, or a value of `schema`; the console offers some `positions` besides "off". */
export const offOr = <T>(
  about: string,
  schema: z.ZodType<T>,
  expected: string,
  ...positions: readonly (T | true)[]
): Switch<T | boolean> => ({
  about,
  initial: false,
  accepts: (value) => typeof value === 'boolean' || schema.safeParse(value).success,
  expected: `true, false${expected}`,
  positions: [false, ...positions],
});

/** A number from 0 to `most`; `initial` (0 by default) is where it starts. */
export const amount = (
  about: string,
  unit: string,
  { initial = 0, most = Number.MAX_VALUE } = {},
): Switch<number> => ({
  about,
  unit,
  initial,
  accepts: (value) => z.number().min(0).max(most).safeParse(value).success,
  expected: most === Number.MAX_VALUE ? `a number of ${unit}` : `a number from 0 to ${most}`,
});

/**
 * Puts switches on one object, each as a property that can be changed while the sandbox runs; `undefined`
 * puts a switch back. A misspelt switch or a value that it does not take throws a TypeError that names it,
 * because a test that sets a switch nobody reads would pass for the wrong reason.
 *
 * @param methods - What the object can do besides; not among its keys.
 */
export function boardOf<T extends Switches, M extends object>(
  board: string,
  switches: T,
  onChange: () => void,
  methods: M,
): SettingsOf<T> & M {
  const settings = Object.create(methods);
  for (const [name, { initial }] of Object.entries(switches)) settings[name] = initial;
  return new Proxy(settings, {
    set(values, name, value) {
      checkSwitch(board, switches, String(name), value);
      const next = value === undefined ? switches[String(name)]?.initial : value;
      const isChange = next !== values[name];
      values[name] = next;
      if (isChange) onChange();
      return true;
    },
  });
}

function checkSwitch(board: string, switches: Switches, name: string, value: unknown): void {
  const entry = Object.hasOwn(switches, name) ? switches[name] : undefined;
  if (!entry) {
    const names = Object.keys(switches).join(', ');
    throw new TypeError(`${board}.${name}: there is no such switch; there are ${names}`);
  }
  if (value !== undefined && !entry.accepts(value)) {
    throw new TypeError(`${board}.${name}: expected ${entry.expected}`);
  }
}

/** The switches of one sandbox: their values, and what is known of them. */
export type Boards = Readonly<
  Record<'faults' | 'dialect', { readonly settings: object; readonly switches: Switches }>
>;

/** One switch with its value, as JSON; `null` is "not set". */
export type SwitchState = Pick<Switch, 'about' | 'expected' | 'initial'> & { value: unknown };

/** Every switch by its full name, such as `faults.latency`. */
export const describeSwitches = (boards: Boards): Record<string, SwitchState> =>
  Object.fromEntries(
    Object.entries(boards).flatMap(([board, { settings, switches }]) =>
      Object.entries(switches).map(([name, { about, expected, initial = null }]) => {
        const value: unknown = Reflect.get(settings, name) ?? null;
        return [`${board}.${name}`, { value, initial, about, expected }];
      }),
    ),
  );

/**
 * Sets switches from `{ latency: 5, 'dialect.nulls': true }`; `null` puts one back. Everything is checked
 * before anything is set.
 *
 * @throws TypeError that names what is wrong.
 */
export function changeSwitches(boards: Boards, changes: unknown): void {
  if (typeof changes !== 'object' || changes === null || Array.isArray(changes)) {
    throw new TypeError('expected an object of switches');
  }
  const sets = Object.entries(changes).map(([given, value]) => {
    const [board, name] = locate(boards, given);
    const { settings, switches } = boards[board];
    checkSwitch(board, switches, name, value ?? undefined);
    return () => Object.assign(settings, { [name]: value ?? undefined });
  });
  for (const set of sets) set();
}

/** The board and the name of a switch; one that both boards have must be given with its board. */
function locate(boards: Boards, given: string): [keyof Boards, string] {
  const [first = '', second] = given.split('.', 2);
  const name = second ?? first;
  const [board, other] = (['faults', 'dialect'] as const).filter((each) =>
    second === undefined ? Object.hasOwn(boards[each].switches, name) : each === first,
  );
  if (board === undefined) {
    throw new TypeError(
      `${given}: there is no such switch; "marketgate sandbox switches" lists all`,
    );
  }
  if (other) throw new TypeError(`${given}: there are two; say faults.${name} or dialect.${name}`);
  return [board, name];
}

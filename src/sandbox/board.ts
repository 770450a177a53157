import { z } from 'zod';

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
  schema: z.literal(positions),
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
  schema: z.union([z.boolean(), schema]),
  expected: `true, false${expected}`,
  positions: [false, ...positions],
});

/** A number from 0 to `most`; `initial` (0 by default) is where it starts. */
export const amount = (about: string, unit: string, most: number, initial = 0): Switch<number> => ({
  about,
  unit,
  initial,
  schema: z.number().min(0).max(most),
  expected: `a number from 0 to ${most}`,
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
      const entry = Object.hasOwn(switches, name) ? switches[String(name)] : undefined;
      if (!entry) {
        const names = Object.keys(switches).join(', ');
        throw new TypeError(
          `${board}.${String(name)}: there is no such switch; there are ${names}`,
        );
      }
      checkSwitch(`${board}.${String(name)}`, entry, value);
      const next = value === undefined ? entry.initial : value;
      const isChange = next !== values[name];
      values[name] = next;
      if (isChange) onChange();
      return true;
    },
  });
}

/** @throws TypeError that names the switch, when it does not take the value. */
export function checkSwitch(name: string, { schema, expected }: Switch, value: unknown): void {
  const isTaken = value === undefined || schema.safeParse(value).success;
  if (!isTaken) throw new TypeError(`${name}: expected ${expected}`);
}

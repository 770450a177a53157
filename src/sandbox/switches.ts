import { z } from 'zod';

/** A position that the console offers for a switch. */
export interface Choice {
  readonly label: string;
  readonly value: unknown;
}

/**
 * One switch of a sandbox. Everything that handles switches reads this: the checks of options, the
 * console's forms, the command line, and the types.
 */
export interface Switch<T = unknown> {
  /** What it does when it is on, in a few words. */
  readonly about: string;
  readonly initial: T;
  readonly accepts: (value: unknown) => boolean;
  /** Which values it takes, as an error says it. */
  readonly expected: string;
  /** Positions to choose from in the console; without any, a number is typed in. */
  readonly choices?: readonly Choice[];
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
): Switch<T[number]> => {
  return {
    about,
    initial: positions[0] as T[number],
    accepts: (value) => positions.some((position) => position === value),
    expected: positions.map((position) => JSON.stringify(position)).join(', '),
    choices: positions.map((value) => ({
      label: typeof value === 'string' ? value : value ? 'on' : 'off',
      value,
    })),
  };
};

/** A switch that is on or off; off at first unless `initial` says otherwise. */
export const onOff = (about: string, initial = false): Switch<boolean> => ({
  ...oneOf(about, false, true),
  initial,
  expected: 'true or false',
});

/**
 * A switch that is off, on, or a value of `schema`.
 *
 * @param choices - What the console offers besides "off", by its label.
 */
export const offOr = <T>(
  about: string,
  schema: z.ZodType<T>,
  expected: string,
  choices: Readonly<Record<string, T | true>>,
): Switch<T | boolean> => ({
  about,
  initial: false,
  accepts: (value) => typeof value === 'boolean' || schema.safeParse(value).success,
  expected: `true, false${expected}`,
  choices: Object.entries({ off: false, ...choices }).map(([label, value]) => ({ label, value })),
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

interface BoardOptions {
  readonly given?: object | undefined;
  /** Put on the prototype, so that `Object.keys` lists switches only. */
  readonly methods?: object;
  readonly onChange?: (() => void) | undefined;
}

/**
 * Puts switches on one object, each as a property that can be changed while the sandbox runs; `undefined`
 * puts a switch back. A misspelt switch or a value that it does not take throws a TypeError that names it,
 * because a test that sets a switch nobody reads would pass for the wrong reason.
 */
export function switchboard(name: string, switches: Switches, options: BoardOptions = {}): object {
  const { given = {}, methods = {}, onChange } = options;
  const board: object = Object.create(methods);
  for (const [key, entry] of Object.entries(switches)) {
    let current = entry.initial;
    Object.defineProperty(board, key, {
      enumerable: true,
      get: () => current,
      set(value: unknown) {
        checkSwitch(name, switches, key, value);
        const next = value === undefined ? entry.initial : value;
        if (next === current) return;
        current = next;
        onChange?.();
      },
    });
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TypeError(`${name}: expected an object of switches`);
  }
  for (const [key, value] of Object.entries(given)) {
    checkSwitch(name, switches, key, value);
    Object.assign(board, { [key]: value });
  }
  // Sealed: assigning a switch that does not exist throws.
  return Object.seal(board);
}

export function checkSwitch(board: string, switches: Switches, key: string, value: unknown): void {
  const entry = Object.hasOwn(switches, key) ? switches[key] : undefined;
  if (!entry) throw new TypeError(`${board}.${key}: there is no such switch`);
  if (value !== undefined && !entry.accepts(value)) {
    throw new TypeError(`${board}.${key}: expected ${entry.expected}`);
  }
}

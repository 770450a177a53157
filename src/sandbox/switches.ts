/** A position that a form offers, with words for it. */
export interface Choice {
  readonly label: string;
  readonly value: unknown;
}

/** One switch: what it does, what it starts as, which values it takes. */
export interface Switch {
  /** What it does when it is on, in a few words. */
  readonly about: string;
  readonly initial: unknown;
  readonly accepts: (value: unknown) => boolean;
  /** Which values it takes, as an error says it. */
  readonly expected: string;
  /** Positions to choose from in a form; a switch without any is typed in. */
  readonly choices?: readonly Choice[];
  /** What a number counts. */
  readonly unit?: string;
}

const nameOf = (position: string | boolean): string =>
  typeof position === 'string' ? position : position ? 'on' : 'off';

/** A switch that is on or off; off at first unless told otherwise. */
export const onOff = (about: string, initial = false): Switch => ({
  about,
  initial,
  accepts: (value) => typeof value === 'boolean',
  expected: 'true or false',
  choices: [false, true].map((value) => ({ label: nameOf(value), value })),
});

/** A switch with named positions; the first one is where it starts. */
export const oneOf = (
  about: string,
  ...positions: readonly [string | boolean, ...(string | boolean)[]]
): Switch => ({
  about,
  initial: positions[0],
  accepts: (value) => positions.some((position) => position === value),
  expected: positions.map((position) => JSON.stringify(position)).join(', '),
  choices: positions.map((value) => ({ label: nameOf(value), value })),
});

/** Says whether a value is a number of at least `least`. */
export const isNumberFrom = (least: number, value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= least;

/** The switches of one board, by name. */
export type Switches<T extends object> = { readonly [K in keyof T]-?: Switch };

interface BoardOptions<T> {
  /** What to start with instead of the initial positions. */
  readonly given?: Partial<T> | undefined;
  /** Put on the prototype, so that `Object.keys` lists switches only. */
  readonly methods?: object;
  /** Called after a switch was set to another value than it had. */
  readonly onChange?: () => void;
}

/**
 * Puts switches on one object, each as a property that can be changed while the sandbox runs.
 * A misspelt switch or a value it does not take throws a TypeError that names it, at once: a test that
 * sets a switch nobody reads would otherwise pass for the wrong reason. `undefined` puts a switch back.
 */
export function switchboard<T extends object>(
  name: string,
  switches: Switches<T>,
  { given = {}, methods = {}, onChange }: BoardOptions<T> = {},
): T {
  const board: Record<string, unknown> = Object.create(methods);
  for (const [key, entry] of Object.entries<Switch>(switches)) {
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
    board[key] = value;
  }
  // Sealed: assigning a switch that does not exist throws instead of being forgotten.
  return Object.seal(board) as T;
}

/** Throws a TypeError that names the switch when there is none, or when it does not take the value. */
export function checkSwitch(
  board: string,
  switches: Readonly<Record<string, Switch>>,
  key: string,
  value: unknown,
): void {
  const entry = Object.hasOwn(switches, key) ? switches[key] : undefined;
  if (!entry) throw new TypeError(`${board}.${key}: there is no such switch`);
  if (value !== undefined && !entry.accepts(value)) {
    throw new TypeError(`${board}.${key}: expected ${entry.expected}`);
  }
}

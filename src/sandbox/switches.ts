/** One switch: what it starts as, which values it takes, and how to say so in an error. */
export interface Switch {
  readonly initial: unknown;
  readonly accepts: (value: unknown) => boolean;
  readonly expected: string;
  /** All values it takes, when they can be listed. */
  readonly positions?: readonly (string | boolean)[];
}

/** A switch that is on or off; off at first unless told otherwise. */
export const onOff = (initial = false): Switch => ({
  initial,
  accepts: (value) => typeof value === 'boolean',
  expected: 'true or false',
  positions: [false, true],
});

/** A switch with named positions; the first one is where it starts. */
export const oneOf = (
  ...positions: readonly [string | boolean, ...(string | boolean)[]]
): Switch => ({
  initial: positions[0],
  accepts: (value) => positions.some((position) => position === value),
  expected: positions.map((position) => JSON.stringify(position)).join(', '),
  positions,
});

/** Says whether a value is a number of at least `least`. */
export const isNumberFrom = (least: number, value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= least;

/**
 * Puts switches on one object, each as a property that can be changed while the sandbox runs.
 * A misspelt switch or a value it does not take throws a TypeError that names it, at once: a test that
 * sets a switch nobody reads would otherwise pass for the wrong reason. `undefined` puts a switch back.
 */
export function switchboard<T extends object>(
  name: string,
  switches: { readonly [K in keyof T]-?: Switch },
  given: Partial<T> = {},
  methods: object = {},
): T {
  // Methods sit on the prototype: Object.keys lists switches only.
  const board: Record<string, unknown> = Object.create(methods);
  for (const [key, entry] of Object.entries<Switch>(switches)) {
    let current = entry.initial;
    Object.defineProperty(board, key, {
      enumerable: true,
      get: () => current,
      set(value: unknown) {
        if (value !== undefined && !entry.accepts(value)) {
          throw new TypeError(`${name}.${key}: expected ${entry.expected}`);
        }
        current = value === undefined ? entry.initial : value;
      },
    });
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new TypeError(`${name}: expected an object of switches`);
  }
  for (const [key, value] of Object.entries(given)) {
    if (!(key in switches)) throw new TypeError(`${name}.${key}: there is no such switch`);
    board[key] = value;
  }
  // Sealed: assigning a switch that does not exist throws instead of being forgotten.
  return Object.seal(board) as T;
}

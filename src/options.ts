import { IncomingMessage, ServerResponse } from 'node:http';
import { isRegExp } from 'node:util/types';

/**
 * The error of every check in this file. Options are checked when a client or a middleware is made, so that a mistake
 * shows at startup.
 *
 * @param owner the function or class whose option it is, as in "requirePurchase"; begins the message.
 */
export function wrongOption(owner: string, name: string, expected: string): TypeError {
  return new TypeError(`${owner}: option "${name}" ${expected}`);
}

/** `app.use(requireLogin)`, without parentheses, calls it with a request: TypeScript does not notice. */
function refuseRequest(owner: string, value: unknown): void {
  if (value instanceof IncomingMessage || value instanceof ServerResponse) {
    throw new TypeError(
      `${owner}: it was given a request in place of its options; write ${owner}(…), with parentheses`,
    );
  }
}

/**
 * Runs the checks of a constructor. Their error begins at the line that has called it, where the mistake is: Node.js prints
 * that line above an error that ends the process.
 */
export function checkedFor<T>(made: NewableFunction, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof Error) Error.captureStackTrace(error, made);
    throw error;
  }
}

/** Part of a message, for a value that is usually read from the environment. */
export const ifUnset = (value: unknown): string =>
  value === undefined ? '; it is undefined: is its environment variable set?' : '';

/**
 * Returns the options if every key is known. An unknown key is refused, because a guard that ignored a
 * misspelt condition would let strangers in.
 */
export function knownOptions<T extends object>(
  owner: string,
  options: T | undefined,
  names: readonly (keyof T & string)[],
): T {
  // The check of a required option then reports that it is missing.
  if (options === undefined) return {} as T;
  refuseRequest(owner, options);
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`${owner}: options must be an object, as in ${owner}({ … })`);
  }
  for (const key of Object.keys(options)) {
    if (!(names as readonly string[]).includes(key)) {
      throw new TypeError(`${owner}: unknown option "${key}"; known are ${names.join(', ')}`);
    }
  }
  return options;
}

/** A string that is not blank. */
export function textOption(owner: string, name: string, value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '') {
    throw wrongOption(owner, name, `must be a non-empty string${ifUnset(value)}`);
  }
  return value;
}

/** The least number of characters of a secret. */
const MIN_SECRET_LENGTH = 32;

/** A secret that the app chooses. The error never contains it. */
export function secretOption(owner: string, name: string, value: unknown): string {
  if (typeof value !== 'string' || value.trim().length < MIN_SECRET_LENGTH) {
    throw wrongOption(
      owner,
      name,
      `must be a secret of at least ${MIN_SECRET_LENGTH} characters, as "openssl rand -base64 32" makes one${ifUnset(value)}`,
    );
  }
  return value;
}

export function patternOption(owner: string, name: string, value: unknown): RegExp | undefined {
  if (value === undefined || isRegExp(value)) return value;
  throw wrongOption(owner, name, 'must be a RegExp, as in /^MK-/');
}

export function positiveOption(
  owner: string,
  name: string,
  value: unknown,
  fallback: number,
  unit: string,
): number {
  if (value === undefined) return fallback;
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0) {
    throw wrongOption(owner, name, `must be a positive number (${unit})`);
  }
  return value;
}

/** A whole number, zero included. */
export function countOption(owner: string, name: string, value: unknown, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw wrongOption(owner, name, 'must be a whole number, 0 or more');
  }
  return value;
}

/** The most entries of a `Map`. With a higher option, the failure would come during some request. */
const MAX_ENTRIES = 2 ** 24;

/** How many entries something in memory can have. */
export function sizeOption(
  owner: string,
  name: string,
  value: unknown,
  fallback: number,
  hint = '',
): number {
  const size = countOption(owner, name, value, fallback);
  if (size > 0 && size <= MAX_ENTRIES) return size;
  throw wrongOption(owner, name, `must be from 1 to ${MAX_ENTRIES}${hint}`);
}

/** An id of the app's own: of an account, a user or a client. */
export type AppId = string | number | bigint | false | null | undefined;

/**
 * An id of the app's own as text; `undefined` where it gives nobody (nothing, `false`, blank text). A number that is not
 * exact is refused, because two people would become one.
 */
export function idText(owner: string, name: string, value: unknown): string | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return String(value);
  const expected =
    typeof value === 'number'
      ? 'must give text, or a whole number up to 2^53 - 1: a larger one is not exact, so read such a column as text'
      : 'must give text, a whole number, a bigint or nothing, and no object or Promise';
  throw wrongOption(owner, name, expected);
}

/** A boolean, false by default; `"false"` from an environment variable is refused. */
export function flagOption(owner: string, name: string, value: unknown): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw wrongOption(owner, name, 'must be true or false');
  return value;
}

export function choiceOption<T extends string>(
  owner: string,
  name: string,
  value: unknown,
  choices: readonly T[],
  fallback: T,
): T {
  if (value === undefined) return fallback;
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) {
    throw wrongOption(owner, name, `must be one of ${choices.map((c) => `"${c}"`).join(', ')}`);
  }
  return choice;
}

export function functionOption<T>(
  owner: string,
  name: string,
  value: T | undefined,
): T | undefined {
  if (value !== undefined && typeof value !== 'function') {
    throw wrongOption(owner, name, 'must be a function');
  }
  return value;
}

/** An object with the named methods. Clients and stores need the right methods, not the right class. */
export function shapedOption<T extends object>(
  owner: string,
  name: string,
  value: unknown,
  methods: readonly (keyof T & string)[],
  what: string,
): T {
  refuseRequest(owner, value);
  const wrong = (lacks = '') => wrongOption(owner, name, `must be ${what}${lacks}`);
  if (typeof value !== 'object' || value === null) throw wrong();
  const given = value as Record<string, unknown>;
  const missing = methods.find((method) => typeof given[method] !== 'function');
  if (missing !== undefined) throw wrong(`; "${missing}" is missing`);
  return value as T;
}

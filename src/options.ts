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
 * Checks the value of an option, and fills in its default. Throws {@link wrongOption} for a wrong one.
 * @param isGiven whether the options have this name, also with the value `undefined`.
 */
export type Check<T> = (owner: string, name: string, value: unknown, isGiven?: boolean) => T;

/** What is read of each option, by its name. */
export type Values<Table> = {
  -readonly [Name in keyof Table]: Table[Name] extends Check<infer T> ? T : never;
};

/** A check for each option of a documented type, and for nothing else. */
export type Table<Options> = { readonly [Name in keyof Options]-?: Check<unknown> };

/**
 * Reads options by a table of what they can be. An unknown one is refused, because a guard that ignored a misspelt condition
 * would let strangers in. Options that the object inherits count too.
 *
 * @param options without them, the check of a required option reports that it is missing.
 * @param within the option that these are parts of, as in "cache".
 */
export function readOptions<T extends Readonly<Record<string, Check<unknown>>>>(
  owner: string,
  table: T,
  options: unknown = {},
  within = '',
): Values<T> {
  const whole = within ? `${owner}: ${within}` : owner;
  refuseRequest(owner, options);
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`${whole}: options must be an object, as in ${owner}({ … })`);
  }
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(table, key));
  if (unknown !== undefined) {
    const known = Object.keys(table).join(', ');
    // As in `new RedisTokenStore(client)`.
    const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(options));
    const advice = isPlain ? '' : `; pass an object of options, as in { ${Object.keys(table)[0]} }`;
    throw new TypeError(`${whole}: unknown option "${unknown}"; known are ${known}${advice}`);
  }
  const given = options as Record<string, unknown>;
  const read = Object.entries(table).map(([name, check]) => [
    name,
    check(owner, within ? `${within}.${name}` : name, given[name], name in given),
  ]);
  return Object.fromEntries(read);
}

/** An option that is checked elsewhere. */
export const unchecked =
  <T>(): Check<T> =>
  (_owner, _name, value) =>
    value as T;

/** An option that can be left out. */
export const optional =
  <T>(check: Check<T>): Check<T | undefined> =>
  (owner, name, value) =>
    value === undefined ? undefined : check(owner, name, value);

/** A string that is not blank. */
export const text =
  (fallback?: string): Check<string> =>
  (owner, name, value = fallback) => {
    if (typeof value === 'string' && value.trim() !== '') return value;
    throw wrongOption(owner, name, `must be a non-empty string${ifUnset(value)}`);
  };

const QUOTED = /^\s*["'`“”‘’].*["'`“”‘’]\s*$/s;

/**
 * What is wrong with a value as it came from the environment or a file; `undefined`: nothing. `docker run --env-file` passes
 * on the quotes of its file, and the text of a file ends with a line break.
 */
export function strayCharacters(value: string): string | undefined {
  if (QUOTED.test(value)) {
    return 'must not have quotes around it; remove them where it is set, because some tools pass them on';
  }
  return /[\r\n]/.test(value)
    ? 'must not have a line break in it; remove it where the value is set or read'
    : undefined;
}

/** Refuses a key, a secret or an address with {@link strayCharacters}. The error never contains it. */
export function refuseStray(owner: string, name: string, value: string): void {
  const problem = strayCharacters(value);
  if (problem !== undefined) throw wrongOption(owner, name, problem);
}

/** A text as it is set in the environment, without the blanks or the byte order mark around it. */
export const environmentText: Check<string> = (owner, name, value) => {
  const given = text()(owner, name, value);
  refuseStray(owner, name, given);
  return given.trim();
};

/** The least number of characters of a secret. */
const MIN_SECRET_LENGTH = 32;

/** A secret that the app chooses. The error never contains it. */
export const secret: Check<string> = (owner, name, value) => {
  if (typeof value === 'string') refuseStray(owner, name, value);
  if (typeof value === 'string' && value.trim().length >= MIN_SECRET_LENGTH) return value;
  const expected = `must be a secret of at least ${MIN_SECRET_LENGTH} characters, as "openssl rand -base64 32" makes one`;
  throw wrongOption(owner, name, expected + ifUnset(value));
};

export const pattern: Check<RegExp> = (owner, name, value) => {
  if (isRegExp(value)) return value;
  throw wrongOption(owner, name, 'must be a RegExp, as in /^MK-/');
};

export const positive =
  (unit: string, fallback: number): Check<number> =>
  (owner, name, value = fallback) => {
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
    throw wrongOption(owner, name, `must be a positive number (${unit})`);
  };

/** A whole number, zero included. */
export const count =
  (fallback: number): Check<number> =>
  (owner, name, value = fallback) => {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    throw wrongOption(owner, name, 'must be a whole number, 0 or more');
  };

/** The most entries of a `Map`. With a higher option, the failure would come during some request. */
const MAX_ENTRIES = 2 ** 24;

/** How many entries something in memory can have. */
export const size =
  (fallback: number, hint = ''): Check<number> =>
  (owner, name, value) => {
    const entries = count(fallback)(owner, name, value);
    if (entries > 0 && entries <= MAX_ENTRIES) return entries;
    throw wrongOption(owner, name, `must be from 1 to ${MAX_ENTRIES}${hint}`);
  };

/** False by default; `"false"` from an environment variable is refused. */
export const flag: Check<boolean> = (owner, name, value = false) => {
  if (typeof value === 'boolean') return value;
  throw wrongOption(owner, name, 'must be true or false');
};

/** One of several words, the first by default. */
export const choice =
  <T extends string>(...words: readonly [T, ...T[]]): Check<T> =>
  (owner, name, value = words[0]) => {
    const word = words.find((each) => each === value);
    if (word !== undefined) return word;
    throw wrongOption(owner, name, `must be one of ${words.map((w) => `"${w}"`).join(', ')}`);
  };

/** A function, which can be left out. */
export const functionOf =
  <T>(): Check<T | undefined> =>
  (owner, name, value) => {
    if (value === undefined || typeof value === 'function') return value as T | undefined;
    throw wrongOption(owner, name, 'must be a function');
  };

/** The default of `clock`. `Date.now` is looked up at each call, because a test can replace it later. */
export const machineClock = (): number => Date.now();

/** An object with the named methods. Clients and stores need the right methods, not the right class. */
export const shaped =
  <T extends object>(methods: readonly (keyof T & string)[], what: string): Check<T> =>
  (owner, name, value) => {
    refuseRequest(owner, value);
    const wrong = (lacks = '') => wrongOption(owner, name, `must be ${what}${lacks}`);
    if (typeof value !== 'object' || value === null) throw wrong();
    const given = value as Record<string, unknown>;
    const missing = methods.find((method) => typeof given[method] !== 'function');
    if (missing !== undefined) throw wrong(`; "${missing}" is missing`);
    return value as T;
  };

/** An id of the app's own: of an account, a user or a client. */
export type AppId = string | number | bigint | false | null | undefined;

/** Who is counted by the guess limit where the client is not known. */
export const UNKNOWN_CLIENT = 'unknown';

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

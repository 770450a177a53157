import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { isMarketgateError, type MarketgateError } from 'marketgate';
import { ERROR_CODES } from '../../../../src/errors.js';
import { everythingOf } from '../../../support/secrets/support/everything-of.js';
import {
  formsOf,
  repetitionsOf,
  SENTINEL as SECRET,
  SecretIndex,
} from '../../../support/secrets/support/secret-forms.js';
import { type Answerer, ServiceInMemory } from '../../../support/service-in-memory.js';

export { SECRET };

/** Unknown to the sweep for secrets: these tests look for theirs themselves, and make errors that hold some. */
export const serviceOf = (answer: Answerer): ServiceInMemory =>
  new ServiceInMemory(answer, { isSwept: false });

/** The secrets that a target's code has been given: of others it cannot know that they are any. */
export const secretsOf = (...names: (keyof typeof SECRET)[]): SecretIndex =>
  new SecretIndex(names.map((name) => formsOf(SECRET[name])));

/** What a service could repeat of what it was sent, in the ways that programs write such things. */
export const ECHOES: readonly string[] = Object.values(SECRET).flatMap(repetitionsOf);

const LONGEST = 20_000;

/** The result of a promise; fails when it neither resolves nor rejects. */
export async function settled<T>(
  promise: Promise<T>,
): Promise<{ value: T; error?: undefined } | { error: unknown }> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('it hangs')), LONGEST);
  });
  const result = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** An exception is of the contract's kind and shows nobody a secret. */
export function checkError(error: unknown, secrets: SecretIndex): MarketgateError {
  assert.ok(isMarketgateError(error), `not a MarketgateError: ${inspect(error)}`);
  assert.ok(Object.hasOwn(ERROR_CODES, error.code), `unknown code ${error.code}`);
  assert.equal(error.status, ERROR_CODES[error.code].status);
  assert.equal(error.statusCode, error.status);
  assert.ok(
    error.message.length > 0 && error.message.length < 1000,
    'no message, or an endless one',
  );
  if (error.retryAfter !== undefined) {
    assert.ok(error.retryAfter >= 0 && error.retryAfter <= 3600, `retryAfter ${error.retryAfter}`);
  }
  checkClean(everythingOf(error), secrets);
  return error;
}

export function checkClean(text: string, secrets: SecretIndex): void {
  assert.deepEqual(secrets.secretsIn(text), [], `a secret got out: ${text.slice(0, 600)}`);
}

const BUILT_IN = [
  Object.prototype,
  Array.prototype,
  Function.prototype,
  String.prototype,
  Error.prototype,
];
const NAMES = BUILT_IN.map((prototype) => Reflect.ownKeys(prototype).length);

/** Nothing was added to what all objects have. */
export function checkPrototypes(): void {
  BUILT_IN.forEach((prototype, i) => {
    assert.equal(Reflect.ownKeys(prototype).length, NAMES[i], 'a prototype was polluted');
  });
}

/** No part of an answer would give whoever copies it another prototype. */
export function checkHarmless(answer: unknown): void {
  const open = [answer];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const prototype: unknown = Object.getPrototypeOf(value);
    assert.ok([Object.prototype, Array.prototype].includes(prototype as object), 'odd prototype');
    for (const inner of Object.values(value)) if (inner !== undefined) open.push(inner);
  }
}

import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { isMarketgateError } from 'marketgate';
import { ERROR_CODES } from '../../../../src/errors.js';
import { everythingOf } from '../../../support/secrets/support/everything-of.js';
import { SENTINEL as SECRET, SecretIndex } from '../../../support/secrets/support/secret-forms.js';

export { SECRET };

/** The secrets that a target's code has been given: of others it cannot know that they are any. */
export const secretsOf = (...names: (keyof typeof SECRET)[]): SecretIndex =>
  new SecretIndex(names.map((name) => SECRET[name]));

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
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}

/** An exception is of the contract's kind and shows nobody a secret. */
export function checkError(error: unknown, secrets: SecretIndex): void {
  assert.ok(isMarketgateError(error), `not a MarketgateError: ${inspect(error)}`);
  const { code, status, message, retryAfter = 0 } = error;
  assert.equal(status, ERROR_CODES[code]?.status);
  assert.ok(message.length > 0 && message.length < 1000, 'no message, or an endless one');
  assert.ok(retryAfter >= 0 && retryAfter <= 3600, `retryAfter ${retryAfter}`);
  checkClean(everythingOf(error), secrets);
}

export function checkClean(text: string, secrets: SecretIndex): void {
  assert.deepEqual(secrets.secretsIn(text), [], `a secret got out: ${text.slice(0, 600)}`);
}

const BUILT_IN = [Object.prototype, Array.prototype, Function.prototype, Error.prototype];
const countNames = () => BUILT_IN.map((prototype) => Reflect.ownKeys(prototype).length);
const NAMES = countNames();

/** Nothing was added to what all objects have. */
export function checkPrototypes(): void {
  assert.deepEqual(countNames(), NAMES, 'a prototype was polluted');
}

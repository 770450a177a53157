import { expect } from 'vitest';
import { everythingOf } from './everything-of.js';
import { formsOf, SENTINEL, SecretIndex } from './secret-forms.js';

const KNOWN = new SecretIndex(Object.values(SENTINEL).map((secret) => formsOf(secret, true)));

/** No sentinel can be read out of this, in any form, nor its first or last 8 characters. */
export function expectClean(...values: unknown[]): void {
  for (const value of values) {
    const text = typeof value === 'string' ? value : everythingOf(value);
    expect(KNOWN.secretsIn(text), text.slice(0, 1500)).toEqual([]);
  }
}

/** What a test got out of something that must fail. */
export async function failureOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

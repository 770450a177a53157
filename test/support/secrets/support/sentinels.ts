import { expect } from 'vitest';
import { everythingOf } from './everything-of.js';
import { SENTINEL, SecretIndex } from './secret-forms.js';

const KNOWN = new SecretIndex(Object.values(SENTINEL));

/** No sentinel can be read out of this, in any form. */
export function expectClean(...values: unknown[]): void {
  for (const value of values) {
    const text = typeof value === 'string' ? value : everythingOf(value);
    expect(KNOWN.secretsIn(text), text.slice(0, 1500)).toEqual([]);
  }
}

import { expect } from 'vitest';
import { everythingOf } from './everything-of.js';
import { formsOf, SecretIndex } from './secret-forms.js';

/** One secret of each kind: words that stand for nothing else, so that finding one means a leak. */
export const SENTINEL = {
  apiKey: 'c41d7e90b3f8265a1f6e0d9c84b7a352e8f1096d3c5b7a24f9e0d1c2b3a49586',
  appSecret: 'q7/Zr+w9 K~x=2%v&t"e\\n.8#u',
  authKey: 'xk29-auth-7e4d0b1f9a63c852',
  accessToken: 'tk83-access-51f0c7d2e6b94a08',
  code: '3f9a2d71-6c0e-4b58-9d14-e7a8b05c2f36',
  wrongCode: '8e15c4b0-2a7d-4f93-b6c8-01d9f3e7a542',
  encryptionKey: Buffer.alloc(32, 'encryption-key-').toString('base64'),
  cookieSecret: 'cs47-cookie-9d3e5f6a8b7c1024e0f1a2b3',
  cacheSecret: 'sh61-cache-4b8d2e0f7c95a316d0b7e2',
} as const;

const KNOWN = new SecretIndex();
for (const secret of Object.values(SENTINEL)) KNOWN.add(formsOf(secret, true));

/** No sentinel can be read out of this, in any form, nor its first or last 8 characters. */
export function expectClean(...values: unknown[]): void {
  for (const value of values) {
    const text = typeof value === 'string' ? value : everythingOf(value);
    expect(KNOWN.secretsIn(text), text.slice(0, 1500)).toEqual([]);
  }
}

/** A secret as programs repeat it: in a sentence, in a query, encoded, in capitals. */
export const repetitionsOf = (secret: string): string[] => [
  `The value ${secret} is wrong.`,
  `Unknown value "${secret}"`,
  JSON.stringify({ value: secret }),
  `GET /api/x?value=${encodeURIComponent(secret)}&y=1`,
  new URLSearchParams({ value: secret }).toString(),
  Buffer.from(secret).toString('base64'),
  Buffer.from(secret).toString('base64url'),
  Buffer.from(`key:${secret}:x`).toString('base64'),
  Buffer.from(secret).toString('hex'),
  secret.toUpperCase(),
  secret.toLowerCase(),
  `${secret}${secret}`,
  `${'no '.repeat(64)}${secret}`,
  `${'1a'.repeat(2035)} ${secret}`,
];

/** What a test got out of something that must fail. */
export async function failureOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

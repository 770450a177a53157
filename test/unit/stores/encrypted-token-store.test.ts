import { inspect } from 'node:util';
import { type AccessToken, EncryptedTokenStore } from 'marketgate';
import { expect, it } from 'vitest';
import { sealText } from '../../../src/seal.js';
import { hear } from '../../support/hear.js';
import { HOUR, NOW, PlainStore, SECRET, tokenOf } from './support.js';

const KEY = Buffer.from('SENTINEL-key-of-32-bytes-exactly');
const OLD = Buffer.alloc(32, 7);

/** A store with one token of anna's in it. */
async function withToken(key: Uint8Array = KEY) {
  const inner = new PlainStore();
  const store = new EncryptedTokenStore(inner, { keys: [key] });
  await store.set('anna', tokenOf());
  const row = inner.rows.get('anna') ?? tokenOf('missing');
  return { inner, store, row };
}

it('EncryptedTokenStore gives the inner store a sealed text and the times, and shows neither token nor key', async () => {
  const { inner, store, row } = await withToken();
  expect(row).toEqual({ value: expect.any(String), issuedAt: NOW, expiresAt: NOW + HOUR });
  await store.set('anna', tokenOf());
  expect(inner.rows.get('anna')?.value).not.toBe(row.value);
  const everything = inspect(inner, { showHidden: true, depth: 9 });
  for (const secret of [SECRET, Buffer.from(SECRET).toString('base64url').slice(0, 20)]) {
    expect(everything).not.toContain(secret);
  }
  const messages = hear('drift');
  // The times in clear text are only for the inner store.
  inner.rows.set('anna', { ...row, expiresAt: row.expiresAt + HOUR });
  expect(await store.get('anna')).toEqual(tokenOf());
  expect(await store.get('bert')).toBeUndefined();
  inner.get = async () => null as never;
  expect(await store.get('anna')).toBeUndefined();
  expect(messages).toEqual([]);
});

it.each([
  ['Buffer', OLD],
  ['base64', OLD.toString('base64')],
  ['base64url', OLD.toString('base64url')],
])(
  'EncryptedTokenStore writes with its first key, and reads with all: an old one as %s',
  async (_what, old) => {
    const { inner } = await withToken(OLD);
    const rotated = new EncryptedTokenStore(inner, { keys: [KEY, old] });
    expect(await rotated.get('anna')).toEqual(tokenOf());
    await rotated.set('anna', tokenOf('second'));
    const after = new EncryptedTokenStore(inner, { keys: [KEY] });
    expect(await after.get('anna')).toEqual(tokenOf('second'));
  },
);

/** The row with a character of the sealed text changed. */
const forged = (row: AccessToken): AccessToken => {
  const other = row.value.at(40) === 'A' ? 'B' : 'A';
  return { ...row, value: [...row.value].with(40, other).join('') };
};
/** Any content, sealed for anna as the store seals. */
const sealed = (row: AccessToken, change: object): AccessToken => {
  const text = JSON.stringify({ v: 1, user: 'anna', ...tokenOf(), ...change });
  return { ...row, value: sealText(KEY, 'marketgate token anna', text) };
};

it.each<[what: string, user: string, change: (row: AccessToken) => unknown]>([
  ['was moved from another user', 'bert', (row) => row],
  ['has a character changed', 'anna', forged],
  ['is from before there was encryption', 'anna', (row) => ({ ...row, value: SECRET })],
  ['holds another version', 'anna', (row) => sealed(row, { v: 2 })],
  ['is no token at all', 'anna', () => ({ value: 5 })],
])(
  'a row that %s is no token for EncryptedTokenStore, stays, and is reported',
  async (_what, user, change) => {
    const { inner, store, row } = await withToken();
    const changed = change(row) as AccessToken;
    inner.rows.set(user, changed);
    const messages = hear('drift');
    expect(await store.get(user)).toBeUndefined();
    const expected = 'a token sealed for this user with one of the keys';
    expect(messages).toEqual([
      { endpoint: 'EncryptedTokenStore.get', kind: 'unreadable', path: 'value', expected },
    ]);
    expect(inner.rows.get(user)).toBe(changed);
  },
);

import { inspect } from 'node:util';
import { type AccessToken, EncryptedTokenStore } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { sealText } from '../../../src/seal.js';
import { hear } from '../../support/hear.js';
import { HOUR, NOW, PlainStore, SECRET, tokenOf } from './support.js';

const KEY = Buffer.from('SENTINEL-key-of-32-bytes-exactly');
const OLD = Buffer.alloc(32, 7);

/** A store with one token of anna's in it. */
async function withToken(keys: readonly Uint8Array[] = [KEY]) {
  const inner = new PlainStore();
  const store = new EncryptedTokenStore(inner, { keys });
  await store.set('anna', tokenOf());
  const row = inner.rows.get('anna') ?? tokenOf('missing');
  return { inner, store, row };
}

/** That a user has no token for this store, and that it was reported without giving anything away. */
async function expectUnreadable(store: EncryptedTokenStore, user = 'anna'): Promise<void> {
  const messages = hear('drift');
  expect(await store.get(user)).toBeUndefined();
  const expected = 'a token sealed for this user with one of the keys';
  expect(messages).toEqual([
    { endpoint: 'EncryptedTokenStore.get', kind: 'unreadable', path: 'value', expected },
  ]);
}

/** Any content, sealed for a user as the store seals. */
const sealedOf = (content: unknown): string =>
  sealText(KEY, 'marketgate token anna', JSON.stringify(content));

describe('what the inner store of EncryptedTokenStore holds', () => {
  it('is a sealed text and the times, differs each time, and shows neither token nor key', async () => {
    const { inner, store, row } = await withToken();
    expect(row).toEqual({ value: expect.any(String), issuedAt: NOW, expiresAt: NOW + HOUR });
    await store.set('anna', tokenOf());
    expect(inner.rows.get('anna')?.value).not.toBe(row.value);
    const everything = inspect(inner, { showHidden: true, depth: 9 });
    for (const secret of [SECRET, Buffer.from(SECRET).toString('base64url').slice(0, 20)]) {
      expect(everything).not.toContain(secret);
    }
  });
});

describe('keys of EncryptedTokenStore', () => {
  it('are rotated: the first writes, all read', async () => {
    const { inner } = await withToken([OLD]);
    const rotated = new EncryptedTokenStore(inner, { keys: [KEY, OLD] });
    expect(await rotated.get('anna')).toEqual(tokenOf());
    await rotated.set('anna', tokenOf('second'));
    const after = new EncryptedTokenStore(inner, { keys: [KEY] });
    expect(await after.get('anna')).toEqual(tokenOf('second'));
  });

  it('that are gone leave no token, and the row where it is', async () => {
    const { inner, row } = await withToken([OLD]);
    await expectUnreadable(new EncryptedTokenStore(inner, { keys: [KEY] }));
    expect(inner.rows.get('anna')).toBe(row);
  });

  it.each([
    ['Buffer', OLD],
    ['base64', OLD.toString('base64')],
    ['base64url', OLD.toString('base64url')],
  ])('can be given as %s', async (_what, key) => {
    const { inner } = await withToken([OLD]);
    expect(await new EncryptedTokenStore(inner, { keys: [key] }).get('anna')).toEqual(tokenOf());
  });
});

describe('a row is no token for EncryptedTokenStore, and is reported, when it', () => {
  it('was moved from another user', async () => {
    const { inner, store, row } = await withToken();
    inner.rows.set('bert', row);
    await expectUnreadable(store, 'bert');
  });

  it('has any character changed', async () => {
    const { inner, row } = await withToken();
    // The last one has bits that are not used.
    for (let at = 0; at < row.value.length - 1; at += 7) {
      const other = row.value[at] === 'A' ? 'B' : 'A';
      const value = row.value.slice(0, at) + other + row.value.slice(at + 1);
      inner.rows.set('anna', { ...row, value });
      await expectUnreadable(new EncryptedTokenStore(inner, { keys: [KEY] }));
    }
  });

  const content = { v: 1, user: 'anna', ...tokenOf() };
  it.each<[string, (row: AccessToken) => unknown]>([
    ['is from before there was encryption', (row) => ({ ...row, value: SECRET })],
    ['is of another version', (row) => ({ ...row, value: '1.AAAA' })],
    ['holds another version', (row) => ({ ...row, value: sealedOf({ ...content, v: 2 }) })],
    ['is no token at all', () => ({ value: 5 })],
  ])('%s', async (_what, change) => {
    const { inner, store, row } = await withToken();
    inner.rows.set('anna', change(row) as AccessToken);
    await expectUnreadable(store);
  });
});

it('EncryptedTokenStore goes by the sealed times, not by those in clear text', async () => {
  const { inner, store, row } = await withToken();
  inner.rows.set('anna', { ...row, expiresAt: row.expiresAt + HOUR });
  expect(await store.get('anna')).toEqual(tokenOf());
});

it('EncryptedTokenStore reports neither a token in order nor one that is not there', async () => {
  const { inner, store } = await withToken();
  const messages = hear('drift');
  expect(await store.get('anna')).toEqual(tokenOf());
  expect(await store.get('bert')).toBeUndefined();
  inner.get = async () => null as never;
  expect(await store.get('anna')).toBeUndefined();
  expect(messages).toEqual([]);
});

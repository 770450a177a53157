import { inspect } from 'node:util';
import { type AccessToken, EncryptedTokenStore, MemoryTokenStore } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { sealText } from '../../../src/cache/seal.js';
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

/** That anna has no token for this store, and that it was reported without giving anything away. */
async function expectUnreadable(store: EncryptedTokenStore, user = 'anna'): Promise<void> {
  const messages = hear('drift');
  expect(await store.get(user)).toBeUndefined();
  expect(messages).toEqual([
    {
      endpoint: 'EncryptedTokenStore.get',
      kind: 'unreadable',
      path: 'value',
      expected: 'a token sealed for this user with one of the keys',
    },
  ]);
}

/** Any content, sealed for a user as the store seals. */
const sealedOf = (content: unknown, user = 'anna', key: Uint8Array = KEY): string =>
  sealText(Buffer.from(key), `marketgate token ${user}`, JSON.stringify(content));

describe('what the inner store holds', () => {
  it('is a sealed text of this format and the times, and neither token nor key', async () => {
    const { inner, row } = await withToken();
    expect(row).toEqual({
      value: expect.stringMatching(/^1\.[\w-]+$/),
      issuedAt: NOW,
      expiresAt: NOW + HOUR,
    });
    const everything = inspect(inner, { showHidden: true, depth: 9 });
    for (const secret of [SECRET, Buffer.from(SECRET).toString('base64url').slice(0, 20)]) {
      expect(everything).not.toContain(secret);
    }
  });

  it('differs each time, also for the same token', async () => {
    const { inner, store, row } = await withToken();
    await store.set('anna', tokenOf());
    expect(inner.rows.get('anna')?.value).not.toBe(row.value);
  });

  it('is what was given, although the object changes while it is sealed', async () => {
    const { store } = await withToken();
    const token = tokenOf();
    const setting = store.set('anna', token);
    token.value = 'changed';
    await setting;
    expect(await store.get('anna')).toEqual(tokenOf());
  });
});

describe('keys', () => {
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
    ['Uint8Array', new Uint8Array(OLD)],
    ['base64', OLD.toString('base64')],
    ['base64 without padding', OLD.toString('base64').replace('=', '')],
    ['base64url', OLD.toString('base64url')],
  ])('may be given as %s', async (_what, key) => {
    const { inner } = await withToken([OLD]);
    expect(await new EncryptedTokenStore(inner, { keys: [key] }).get('anna')).toEqual(tokenOf());
  });

  it('are copied: wiping the Buffer afterwards changes nothing', async () => {
    const key = Buffer.from(KEY);
    const { inner } = await withToken();
    const store = new EncryptedTokenStore(inner, { keys: [key] });
    key.fill(0);
    expect(await store.get('anna')).toEqual(tokenOf());
  });

  it('are shown by neither inspect nor JSON', async () => {
    const { store } = await withToken([KEY, OLD]);
    const shown = [
      inspect(store, { showHidden: true, depth: 20, getters: true }),
      inspect(new EncryptedTokenStore(new MemoryTokenStore(), { keys: [KEY] }), {
        showHidden: true,
        depth: 20,
      }),
      JSON.stringify(store),
    ].join('\n');
    for (const form of ['utf8', 'base64', 'base64url', 'hex'] as const) {
      expect(shown).not.toContain(KEY.toString(form).slice(0, 30));
    }
    expect(shown).not.toContain('53 45 4e 54');
    expect(shown).not.toContain('83, 69, 78, 84');
  });
});

describe('a row that counts as none', () => {
  it('is one that was moved from another user', async () => {
    const { inner, store, row } = await withToken();
    inner.rows.set('bert', row);
    await expectUnreadable(store, 'bert');
  });

  it('is one with any character changed', async () => {
    const { inner, row } = await withToken();
    // The last one has bits that are not used.
    for (let at = 0; at < row.value.length - 1; at++) {
      const other = row.value[at] === 'A' ? 'B' : 'A';
      inner.rows.set('anna', {
        ...row,
        value: row.value.slice(0, at) + other + row.value.slice(at + 1),
      });
      await expectUnreadable(new EncryptedTokenStore(inner, { keys: [KEY] }));
    }
  });

  it.each<[string, (row: AccessToken) => unknown]>([
    ['one that was made to last longer', (row) => ({ ...row, expiresAt: row.expiresAt + 1 })],
    ['a token from before there was encryption', (row) => ({ ...row, value: SECRET })],
    ['nothing', (row) => ({ ...row, value: ' ' })],
    ['one of another version', (row) => ({ ...row, value: '1.AAAA' })],
    ['a huge one', (row) => ({ ...row, value: 'x'.repeat(200_000) })],
    [
      'one of ours with another version in it',
      (row) => ({ ...row, value: sealedOf({ v: 2, user: 'anna', ...tokenOf() }) }),
    ],
    ['what is no token at all', () => ({ value: 5 })],
  ])('is %s', async (_what, change) => {
    const { inner, store, row } = await withToken();
    inner.rows.set('anna', change(row) as AccessToken);
    await expectUnreadable(store);
  });

  it('is a text that was sealed with the key for something else', async () => {
    const { inner, store } = await withToken();
    const content = JSON.stringify({ v: 1, user: 'anna', ...tokenOf() });
    for (const name of ['anna', 'marketgate token bert', '']) {
      inner.rows.set('anna', { ...tokenOf(), value: sealText(KEY, name, content) });
      await expectUnreadable(new EncryptedTokenStore(inner, { keys: [KEY] }));
    }
    inner.rows.set('anna', { ...tokenOf(), value: sealedOf(JSON.parse(content)) });
    expect(await store.get('anna')).toEqual(tokenOf());
  });

  it('is not reported where there is nothing, nor one that is in order', async () => {
    const { inner, store } = await withToken();
    const messages = hear('drift');
    expect(await store.get('anna')).toEqual(tokenOf());
    expect(await store.get('bert')).toBeUndefined();
    inner.get = async () => null as never;
    expect(await store.get('anna')).toBeUndefined();
    expect(messages).toEqual([]);
  });
});

describe('the inner store', () => {
  it('rejects through it, unchanged', async () => {
    const error = new Error('down');
    const fail = () => Promise.reject(error);
    const store = new EncryptedTokenStore(
      { get: fail, set: fail, delete: fail, claim: fail },
      { keys: [KEY] },
    );
    await expect(store.get('anna')).rejects.toBe(error);
    await expect(store.set('anna', tokenOf())).rejects.toBe(error);
    await expect(store.delete('anna')).rejects.toBe(error);
    await expect(store.claim?.('name', 1)).rejects.toBe(error);
  });

  it('has its claim passed through, as a method', async () => {
    const store = new EncryptedTokenStore(new MemoryTokenStore(), { keys: [KEY] });
    expect(await store.claim?.('name', HOUR)).toBe(true);
    expect(await store.claim?.('name', HOUR)).toBe(false);
  });

  it('without claim gives none to it', () => {
    const store = new EncryptedTokenStore(new PlainStore(), { keys: [KEY] });
    expect(store.claim).toBeUndefined();
    expect('claim' in store).toBe(false);
  });
});

describe('options of EncryptedTokenStore', () => {
  const inner = new PlainStore();
  const secret = KEY.toString('base64');
  it.each<[string, unknown, unknown, string]>([
    ['no store', undefined, { keys: [KEY] }, 'option "store" must be a token store'],
    ['half a store', { get() {}, set() {} }, { keys: [KEY] }, '"delete" is missing'],
    ['no options', inner, undefined, 'option "keys" must be an array of keys'],
    ['no keys', inner, {}, 'option "keys" must be an array'],
    ['a key that is no array', inner, { keys: secret }, 'option "keys" must be an array'],
    ['an empty array', inner, { keys: [] }, 'option "keys" must be an array of keys'],
    ['a short key', inner, { keys: [KEY.subarray(1)] }, '"keys[0]" must be 32 bytes'],
    ['a long key', inner, { keys: [KEY, Buffer.alloc(64)] }, '"keys[1]" must be 32 bytes'],
    ['text of 32 characters', inner, { keys: ['k'.repeat(32)] }, '"keys[0]" must be 32 bytes'],
    ['hex', inner, { keys: [KEY.toString('hex')] }, '"keys[0]" must be 32 bytes'],
    [
      'no base64',
      inner,
      { keys: [`${secret.slice(0, 20)} ${secret.slice(21)}`] },
      '"keys[0]" must be 32 bytes',
    ],
    ['a key and more behind it', inner, { keys: [`${secret}!`] }, '"keys[0]" must be 32 bytes'],
    ['a key and more before it', inner, { keys: [`!${secret}`] }, '"keys[0]" must be 32 bytes'],
    ['an empty text', inner, { keys: [''] }, '"keys[0]" must be 32 bytes'],
    ['undefined', inner, { keys: [KEY, undefined] }, '"keys[1]" must be 32 bytes as a Buffer'],
    ['no text at all', inner, { keys: [Object.create(null)] }, '"keys[0]" must be 32 bytes'],
    ['a list of numbers', inner, { keys: [[...KEY]] }, '"keys[0]" must be 32 bytes as a Buffer'],
    ['a typing error', inner, { keys: [KEY], key: secret }, 'unknown option "key"'],
  ])('that are wrong (%s) are a TypeError that shows no key', (_what, store, options, message) => {
    const make = () => new EncryptedTokenStore(store as never, options as never);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(secret.slice(0, 12));
    expect(make).not.toThrow('SENTINEL');
  });

  it('set takes nothing but a token', async () => {
    const store = new EncryptedTokenStore(inner, { keys: [KEY] });
    await expect(store.set('anna', { value: SECRET } as never)).rejects.toThrow(
      new TypeError('EncryptedTokenStore.set: "token" must be an AccessToken'),
    );
  });
});

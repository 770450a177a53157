import { createHash } from 'node:crypto';
import { decodeProtectedHeader } from 'jose';
import Keyv from 'keyv';
import { EncryptedTokenStore } from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { describe, expect, it } from 'vitest';
import { GuardedTokenStore } from '../../../src/stores/guarded-token-store.js';
import { decodeToken, encodeToken } from '../../../src/stores/stored-token.js';
import { rejection } from '../../support/errors.js';
import { driftDuring, NOW, PlainStore, tokenOf } from './support.js';

const KEY = Buffer.alloc(32, 7);

describe('nothing is reported of', () => {
  it.each([
    ['EncryptedTokenStore', () => new EncryptedTokenStore(new PlainStore(), { keys: [KEY] })],
    ['KeyvTokenStore', () => new KeyvTokenStore({ keyv: new Keyv(), clock: () => NOW })],
  ])('a row of %s that is in order', async (_name, make) => {
    const store = make();
    const messages = await driftDuring(async () => {
      await store.set('anna', tokenOf());
      expect(await store.get('anna')).toEqual(tokenOf());
    });
    expect(messages).toEqual([]);
  });

  it('an inner store that says null for none', async () => {
    const inner = Object.assign(new PlainStore(), { get: async () => null as never });
    const store = new EncryptedTokenStore(inner, { keys: [KEY] });
    expect(await driftDuring(() => store.get('anna'))).toEqual([]);
    expect(await store.get('anna')).toBeUndefined();
  });
});

it('the name of a key is not its hash: who guesses keys could compare that', async () => {
  const inner = new PlainStore();
  await new EncryptedTokenStore(inner, { keys: [KEY] }).set('anna', tokenOf());
  const { kid } = decodeProtectedHeader(inner.rows.get('anna')?.value ?? '');
  expect(kid).toHaveLength(16);
  expect(createHash('sha256').update(KEY).digest('base64url')).not.toContain(kid);
});

it('a wrong clock of KeyvTokenStore is named', () => {
  expect(() => new KeyvTokenStore({ keyv: new Keyv(), clock: 7 as never })).toThrow(
    /^KeyvTokenStore: option "clock"/,
  );
});

describe('of a store’s error the message repeats', () => {
  async function messageFor(error: unknown): Promise<string> {
    const store = new PlainStore();
    store.get = async () => Promise.reject(error);
    return (await rejection(new GuardedTokenStore(store).get('anna'))).message;
  }

  it.each<[string, unknown]>([
    ['a name that only ends like a class', { name: 'SET token-1 Error' }],
    ['a name that only begins like one', { name: 'Error: SET token-1' }],
    ['a code that only ends like one', { code: 'token-1 ABC' }],
    ['a code that only begins like one', { code: 'ABC token-1' }],
    ['a code that is a list', { code: ['TOKEN_1'] }],
    ['a code that is too long to be one', { code: 'TOKEN_1'.repeat(5) }],
  ])('nothing of %s', async (_name, own) => {
    const message = await messageFor(Object.assign(new Error('x'), own));
    expect(message).toContain('tokenStore.get failed (Error)');
    expect(message).not.toMatch(/token.1/i);
  });

  it.each(['AB', 'A'.repeat(32), '57P01', 'ERR_SOCKET_CLOSED'])('the code %s', async (code) => {
    const message = await messageFor(Object.assign(new TypeError('x'), { code }));
    expect(message).toContain(`tokenStore.get failed (TypeError, ${code})`);
  });

  it.each([undefined, null, 'token-1', { message: 'token-1' }])('nothing of %o', async (thrown) => {
    const message = await messageFor(thrown);
    expect(message).toContain('tokenStore.get failed');
    expect(message).not.toContain('token-1');
  });
});

describe('a stored value', () => {
  const row = encodeToken('anna', tokenOf());

  it('is read for its user', () => {
    expect(decodeToken('anna', row)).toStrictEqual(tokenOf());
  });

  it.each<[string, unknown]>([
    ['another user’s', encodeToken('bert', tokenOf())],
    ['bytes', Buffer.from(row)],
    ['a list with it', [row]],
    ['an object', JSON.parse(row)],
    ['cut off', row.slice(0, -1)],
    ['null', 'null'],
    ['a number', '7'],
    ['nothing', undefined],
    ['of another version', row.replace('"v":1', '"v":2')],
  ])('that is %s is none', (_name, stored) => {
    expect(decodeToken('anna', stored)).toBeUndefined();
  });
});

import { EventEmitter } from 'node:events';
import { inspect } from 'node:util';
import Keyv from 'keyv';
import { EncryptedTokenStore, loadUser, MemoryTokenStore, type TokenStore } from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { RedisGuessLimit, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { describe, expect, it, vi } from 'vitest';
import { FakeNodeRedis } from './redis-fakes.js';
import { PlainStore, SECRET, tokenOf } from './support.js';

const KEY = Buffer.from('SENTINEL-key-of-32-bytes-exactly');
const secret = KEY.toString('base64');
const client = new FakeNodeRedis().asClient;
const keyv = { get: async () => undefined, set: async () => true, delete: async () => true };
const [zeroth, first] = ['"keys[0]" must be 32 bytes', '"keys[1]" must be 32 bytes'];

type Make = (options: never) => unknown;
const encrypted = (options: { keys: never }) => new EncryptedTokenStore(new PlainStore(), options);
const makers = {
  MemoryTokenStore: (options) => new MemoryTokenStore(options),
  EncryptedTokenStore: encrypted,
  'EncryptedTokenStore on': (store) => new EncryptedTokenStore(store, { keys: [KEY] }),
  KeyvTokenStore: (options) => new KeyvTokenStore(options),
  'RedisTokenStore of': (options) => new RedisTokenStore(options),
  RedisTokenStore: (options: object) => new RedisTokenStore({ client, ...options }),
  RedisGuessLimit: (options: object) => new RedisGuessLimit({ client, ...options }),
  RedisHolderStore: (options: object) => new RedisHolderStore({ client, secret, ...options }),
  loadUser: (broken: object) => {
    const tokenStore = Object.assign(new MemoryTokenStore(), broken) as TokenStore;
    return loadUser({ getUser: vi.fn() }, { tokenStore });
  },
} satisfies Record<string, Make>;

describe('a wrong option of a store is a TypeError that names it, and shows no secret', () => {
  // biome-ignore format: a table is read by its columns
  it.each<[keyof typeof makers, unknown, string]>([
    ['MemoryTokenStore', { max: 0 }, 'option "max"'],
    ['MemoryTokenStore', { maximum: 5 }, 'option "maximum"'],
    ['EncryptedTokenStore on', undefined, 'option "store" must be a token store'],
    ['EncryptedTokenStore', { keys: secret }, 'option "keys" must be an array'],
    ['EncryptedTokenStore', { keys: [] }, 'option "keys" must be an array of keys'],
    ['EncryptedTokenStore', { keys: [undefined] }, 'is its environment variable set?'],
    ['EncryptedTokenStore', { keys: [KEY.subarray(1)] }, zeroth],
    ['EncryptedTokenStore', { keys: [KEY, Buffer.alloc(64)] }, first],
    ['EncryptedTokenStore', { keys: [KEY.toString('hex')] }, zeroth],
    ['EncryptedTokenStore', { keys: [`${secret.slice(0, 20)} ${secret.slice(21)}`] }, zeroth],
    ['EncryptedTokenStore', { keys: [KEY], key: secret }, 'unknown option "key"'],
    ['KeyvTokenStore', { keyv: 'postgres://x' }, 'option "keyv" must be a Keyv'],
    ['KeyvTokenStore', { keyv: { ...keyv, delete: undefined } }, '"delete" is missing'],
    ['KeyvTokenStore', { keyv, prefix: 5 }, 'option "prefix" must be'],
    ['RedisTokenStore', { prefix: ' ' }, 'option "prefix"'],
    ['RedisTokenStore of', new EventEmitter(), '; pass an object of options, as in { client }'],
    ['RedisGuessLimit', { limit: 0 }, 'option "limit"'],
    ['RedisHolderStore', { prefix: 5 }, 'option "prefix"'],
    ['RedisHolderStore', { cooldown: 5 }, 'unknown option "cooldown"'],
    ['loadUser', { set: 'x' }, '"set" is missing'],
  ])('%s with %j', (name, options, message) => {
    const make = () => (makers[name] as Make)(options as never);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
    expect(make).toThrow(new RegExp(`^${name.split(' ')[0]}: `));
    expect(make).not.toThrow(/SENTINEL|U0VOVElORUwt/);
  });
});

it.each<[string, TokenStore]>([
  ['MemoryTokenStore', new MemoryTokenStore()],
  ['KeyvTokenStore', new KeyvTokenStore({ keyv: new Keyv() })],
  ['EncryptedTokenStore', new EncryptedTokenStore(new MemoryTokenStore(), { keys: [KEY, KEY] })],
])('inspect and JSON of a %s show neither a token nor a key', async (_name, store) => {
  await store.set('anna', tokenOf(SECRET, Date.now()));
  const shown =
    inspect(store, { showHidden: true, depth: 20, getters: true }) + JSON.stringify(store);
  for (const form of ['utf8', 'base64', 'base64url', 'hex'] as const) {
    expect(shown).not.toContain(KEY.toString(form).slice(0, 30));
  }
  for (const text of [SECRET, '53 45 4e 54', '83, 69, 78, 84']) expect(shown).not.toContain(text);
});

import { describe, expect, it } from 'vitest';
import {
  type CacheSettings,
  checkCacheOptions,
} from '../../../../src/key-api/cache/cache-options.js';
import { MemorySharedCache } from '../../../support/memory-shared-cache.js';

const check = (option: unknown) => checkCacheOptions('KeyApi', option as never) as CacheSettings;

const DEFAULTS = {
  max: 5000,
  ttl: 300_000,
  staleWhileRevalidate: 3_600_000,
  staleIfError: 86_400_000,
  invalidTtl: 30_000,
  maxInvalid: 1000,
};

describe('options of the cache', () => {
  it('that are left out are as documented', () => {
    for (const option of [undefined, {}, { ttl: undefined, shared: undefined }]) {
      expect(check(option)).toEqual({ limits: DEFAULTS, shared: undefined, secret: undefined });
    }
    expect(check(false)).toBe(false);
  });

  it.each(Object.keys(DEFAULTS))('%s is taken as it was given, and changes no other', (name) => {
    expect(check({ [name]: 1 }).limits).toEqual({ ...DEFAULTS, [name]: 1 });
    expect(() => check({ [name]: -1 })).toThrow(`"cache.${name}"`);
    expect(check({}).limits).toEqual(DEFAULTS);
  });

  it('a time may be nothing, a size may not: it says how to turn the cache off', () => {
    const none = { ttl: 0, staleWhileRevalidate: 0, staleIfError: 0, invalidTtl: 0 };
    expect(check(none).limits).toMatchObject(none);
    for (const name of ['max', 'maxInvalid']) {
      expect(() => check({ [name]: 0 })).toThrow(`"cache.${name}"`);
      expect(() => check({ [name]: 0 })).toThrow(/1 or more.*cache: false/);
    }
  });

  it.each([null, true, 'on', 5, () => {}])(
    '%s instead of options says what is wanted',
    (option) => {
      expect(() => check(option)).toThrow(TypeError);
      expect(() => check(option)).toThrow(/KeyApi.*"cache".*object.*false/);
    },
  );

  it('one that nobody knows is named, with whose it is', () => {
    expect(() => check({ ttl: 1, tll: 1 })).toThrow(/KeyApi: cache.*"tll"/);
  });

  it('a shared cache and a secret are taken as they are', () => {
    const shared = new MemorySharedCache();
    expect(check({ shared, secret: 's' })).toMatchObject({ shared, secret: 's' });
    expect(() => check({ secret: ' ' })).toThrow('"cache.secret"');
    expect(() => check({ secret: 7 })).toThrow('"cache.secret"');
  });

  it.each(['get', 'set', 'delete'])('a shared cache without %s says which would do', (method) => {
    const shared = { get() {}, set() {}, delete() {}, [method]: undefined };
    expect(() => check({ shared })).toThrow(/"cache\.shared".*RedisCache/s);
    expect(() => check({ shared })).toThrow(`"${method}"`);
  });

  it.each(['lock', 'subscribe', 'publish'])(
    'a shared cache may lack %s, but has no other in its place',
    (method) => {
      const shared = { get() {}, set() {}, delete() {} };
      expect(check({ shared }).shared).toBe(shared);
      expect(() => check({ shared: { ...shared, [method]: true } })).toThrow(
        `"cache.shared.${method}"`,
      );
    },
  );
});

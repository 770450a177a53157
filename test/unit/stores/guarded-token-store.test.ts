import {
  EncryptedTokenStore,
  MarketgateError,
  MemoryTokenStore,
  type TokenStore,
} from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { RedisTokenStore } from 'marketgate/redis';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { checkTokenStore, GuardedTokenStore } from '../../../src/stores/token-store.js';
import { deferred } from '../../support/deferred.js';
import { everythingOf, rejection } from '../../support/errors.js';
import { unhandledRejections } from '../../support/hear.js';
import { FakeNodeRedis } from './redis-fakes.js';
import { PlainStore, SECRET, tokenOf } from './support.js';

type Method = 'get' | 'set' | 'delete' | 'claim';
const METHODS: readonly Method[] = ['get', 'set', 'delete', 'claim'];

const KEY = Buffer.alloc(32, 7);

const asItIs = (store: TokenStore): TokenStore => store;
const encrypted = (store: TokenStore) => new EncryptedTokenStore(store, { keys: [KEY] });

/** A guarded store whose every method does the same. */
function guarded(behave: () => unknown, wrap = asItIs): GuardedTokenStore {
  const method = behave as () => Promise<never>;
  return new GuardedTokenStore(wrap({ get: method, set: method, delete: method, claim: method }));
}

function call(store: GuardedTokenStore, method: Method): Promise<unknown> {
  if (method === 'get') return store.get('anna');
  if (method === 'set') return store.set('anna', tokenOf());
  if (method === 'delete') return store.delete('anna');
  return store.claim('name', 1000);
}

describe('a store that fails', () => {
  const failures: Record<string, () => unknown> = {
    rejects: async () => {
      throw new Error(`SET anna ${SECRET}`);
    },
    'throws at once': () => {
      throw new Error(`SET anna ${SECRET}`);
    },
    'rejects with a string': () => Promise.reject(`SET ${SECRET}`),
    'rejects with nothing': () => Promise.reject(undefined),
    'gives a thenable that throws': () => ({
      // biome-ignore lint/suspicious/noThenProperty: a broken promise library is the case here.
      then: () => {
        throw new Error(SECRET);
      },
    }),
  };
  for (const [what, behave] of Object.entries(failures)) {
    it.each(METHODS)(
      `and ${what} makes %s store_unavailable, without its words`,
      async (method) => {
        const error = await rejection(call(guarded(behave), method));
        expect(error.code).toBe('store_unavailable');
        expect(error.status).toBe(503);
        expect(error.message).toContain(`tokenStore.${method} failed`);
        expect(error.cause).toBeUndefined();
        expect(everythingOf(error)).not.toContain(SECRET);
      },
    );
  }
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

  it.each<[string, unknown]>([
    ['no message', Object.assign(new Error(), { message: undefined })],
    ['a name that is a symbol', Object.assign(new Error(), { name: Symbol('x') })],
    [
      'a code that throws',
      Object.defineProperty(new Error(), 'code', { get: () => expect.unreachable() }),
    ],
    ['nothing that can be read', new Proxy({}, { getPrototypeOf: () => expect.unreachable() })],
  ])('no more of an error with %s', async (_name, odd) => {
    const error = await rejection(guarded(() => Promise.reject(odd)).get('anna'));
    expect(error.message).toContain('tokenStore.get failed;');
  });

  it.each(['AB', 'A'.repeat(32), '57P01', 'ERR_SOCKET_CLOSED'])('the code %s', async (code) => {
    const message = await messageFor(Object.assign(new TypeError('x'), { code }));
    expect(message).toContain(`tokenStore.get failed (TypeError, ${code})`);
  });
});

describe('a failure that comes clean already', () => {
  it('of a store of this package is passed on as it is', async () => {
    const refused = () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }));
    const keyv = { get: refused, set: refused, delete: refused };
    const error = await rejection(new GuardedTokenStore(new KeyvTokenStore({ keyv })).get('anna'));
    expect(error.message).toBe(
      'KeyvTokenStore.get failed (Error, ECONNREFUSED); look at the store and its connection (npx marketgate explain store_unavailable)',
    );
  });

  it('is not believed to be one because it says so', async () => {
    const forged = new MarketgateError('store_unavailable', SECRET, { cause: SECRET });
    const error = await rejection(guarded(() => Promise.reject(forged)).get('anna'));
    expect(error.message).toContain('tokenStore.get failed (store_unavailable);');
    expect(everythingOf(error)).not.toContain(SECRET);
  });
});

describe('a store that hangs', () => {
  beforeEach(() => void vi.useFakeTimers());

  it.each([...METHODS.map((method) => [method, asItIs] as const), ['get', encrypted] as const])(
    'is cut off in %s after two seconds',
    async (method, wrap) => {
      const store = guarded(() => new Promise(() => {}), wrap);
      const outcome = rejection(call(store, method));
      await vi.advanceTimersByTimeAsync(1999);
      expect(vi.getTimerCount()).toBe(1);
      // And one more: what lies in the socket is read before anything is called late.
      await vi.advanceTimersByTimeAsync(2);
      const error = await outcome;
      expect(error.code).toBe('store_unavailable');
      expect(error.message).toContain(`tokenStore.${method} did not answer within 2000 ms`);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it.each([
    ['itself', asItIs],
    ['also when it is encrypted', encrypted],
  ])('by its own deadline, if it has one: a RedisTokenStore %s', async (_what, wrap) => {
    const client = new FakeNodeRedis();
    client.get.mockReturnValue(new Promise(() => {}));
    const redis = new RedisTokenStore({ client: client.asClient, timeout: 3000 });
    const outcome = rejection(new GuardedTokenStore(wrap(redis)).get('anna'));
    await vi.advanceTimersByTimeAsync(2999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(2);
    expect((await outcome).message).toContain('RedisTokenStore.get did not answer within 3000 ms');
  });

  it('may reject after that without being an unhandled rejection', async () => {
    const unhandled = unhandledRejections();
    const late = deferred();
    const outcome = rejection(guarded(() => late.promise).get('anna'));
    await vi.advanceTimersByTimeAsync(2001);
    await outcome;
    late.reject(new Error(SECRET));
    vi.useRealTimers();
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('what a store answers', () => {
  it.each([
    undefined,
    null,
    'a token',
    42,
    {},
    { value: SECRET },
    { ...tokenOf(), value: '' },
    { ...tokenOf(), expiresAt: '2030' },
    { ...tokenOf(), expiresAt: Number.NaN },
  ])('is no token when it is %j', async (answer) => {
    await expect(guarded(() => answer).get('anna')).resolves.toBeUndefined();
  });

  it('may come without a promise, and is a copy', async () => {
    const token = { ...tokenOf(), extra: 1 };
    const got = await guarded(() => token).get('anna');
    expect(got).toEqual(tokenOf());
    expect(got).not.toBe(token);
  });

  it('with a getter that throws is a failure like any other', async () => {
    const broken = {
      get value(): string {
        throw new Error(SECRET);
      },
    };
    const error = await rejection(guarded(() => broken).get('anna'));
    expect(error.code).toBe('store_unavailable');
    expect(everythingOf(error)).not.toContain(SECRET);
  });

  it('with a getter that says something else the second time cannot fool the check', async () => {
    let reads = 0;
    const fickle = {
      ...tokenOf(),
      get value() {
        return reads++ === 0 ? SECRET : '';
      },
    };
    expect(await guarded(() => fickle).get('anna')).toEqual(tokenOf());
  });

  it('cannot be changed through the token given to set', async () => {
    const inner = new PlainStore();
    const token = tokenOf();
    await new GuardedTokenStore(inner).set('anna', token);
    token.value = 'changed';
    expect(inner.rows.get('anna')).toEqual(tokenOf());
  });
});

it('forgets no token where there is none', async () => {
  const store = new GuardedTokenStore(new PlainStore());
  await expect(store.forget('anna', tokenOf())).resolves.toBeUndefined();
});

describe('a claim', () => {
  it.each([false, undefined, null, 1, 'true', 'OK', {}])(
    'that gives %j is lost',
    async (answer) => {
      await expect(guarded(() => answer).claim('name', 1000)).resolves.toBe(false);
    },
  );

  it('is won where the store has none', async () => {
    await expect(new GuardedTokenStore(new PlainStore()).claim('name', 1000)).resolves.toBe(true);
  });

  it('is called as a method of the store', async () => {
    const claim = vi.fn(async () => true);
    const store = Object.assign(new PlainStore(), { claim });
    expect(await new GuardedTokenStore(store).claim('name', 1000)).toBe(true);
    expect(claim.mock.contexts).toEqual([store]);
  });

  it('fails closed where reading it throws', async () => {
    const store = Object.defineProperty(new PlainStore(), 'claim', {
      get: () => {
        throw new Error(SECRET);
      },
    });
    const error = await rejection(new GuardedTokenStore(store).claim('name', 1000));
    expect(error.code).toBe('store_unavailable');
  });
});

describe('what is passed as a token store', () => {
  it('can be any object with its methods, with "claim" or without', () => {
    for (const store of [new PlainStore(), new MemoryTokenStore()]) {
      expect(checkTokenStore('loadUser', store)).toBe(store);
    }
  });

  it.each<[string, object]>([
    ['get', { get: undefined }],
    ['set', { set: 'x' }],
    ['delete', { delete: null }],
  ])('must have "%s", and the complaint names it', (method, broken) => {
    const check = () => checkTokenStore('loadUser', Object.assign(new PlainStore(), broken));
    expect(check).toThrow(TypeError);
    expect(check).toThrow(/^loadUser: option "tokenStore" must be a token store/);
    expect(check).toThrow(`"${method}" is missing`);
  });

  it.each([true, null, 'x', {}])('with %j for "claim" is none', (claim) => {
    const store = Object.assign(new PlainStore(), { claim }) as unknown as TokenStore;
    expect(() => checkTokenStore('loadUser', store)).toThrow(
      /^loadUser: option "tokenStore" has a "claim"/,
    );
  });
});

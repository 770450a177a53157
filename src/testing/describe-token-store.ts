import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AccessToken } from '../model/access-token.js';
import type { TokenStore } from '../stores/token-store.js';
import {
  atOnce,
  HOUR,
  letExpire,
  lifetimeIn,
  type SuiteSetup,
  suite,
  type TestRunner,
} from './suite.js';

/** What {@link describeTokenStore} is given for each test. */
export interface TokenStoreSetup extends SuiteSetup {
  /** The store. It need not be empty, because every test uses new user ids. */
  store: TokenStore;
}

/**
 * Tests the contract of a `TokenStore`, for authors of stores. Runs under vitest, jest,
 * node:test or mocha:
 *
 * ```ts
 * import { describe, it } from 'node:test';
 * import { describeTokenStore } from 'marketgate/testing';
 *
 * describeTokenStore('MyTokenStore', async () => {
 *   const client = await connect();
 *   return { store: new MyTokenStore(client), close: () => client.end() };
 * }, { describe, it });
 * ```
 *
 * A store that takes a clock is tested without waiting when the setup has `clock` and `advance`.
 */
export function describeTokenStore(
  name: string,
  make: () => TokenStoreSetup | Promise<TokenStoreSetup>,
  runner: TestRunner,
): void {
  suite('describeTokenStore', name, 'store', make, runner, (addTest) => {
    const add = (title: string, test: (store: TokenStore, tools: Tools) => Promise<void>) =>
      addTest(title, (setup) => test(setup.store, toolsFor(setup)));

    add('gives back exactly what was set', async (store, tools) => {
      const { user, token, expectToken, expectNone } = tools;
      for (const id of [user, 'constructor', 'toString']) await expectNone(id, `a new user ${id}`);
      const odd = '"\'\\ \n\t%s :base64:AAAA é 日本 🔑 ';
      const { issuedAt, ...rest } = token();
      // A store that rounds can lose an odd millisecond.
      const whole = { ...rest, issuedAt: issuedAt - 1, value: `${odd}${'x'.repeat(4000)}` };
      await store.set(user, whole);
      for (const time of ['first', 'second']) await expectToken(user, whole, `the ${time} time`);
    });

    add('replaces, deletes and keeps a token again', async (store, tools) => {
      const { user, token, expectToken, expectNone } = tools;
      for (const its of [token(), token(2 * HOUR)]) {
        await store.set(user, its);
        await expectToken(user, its, 'after set');
      }
      for (const when of ['after delete', 'after delete of nothing']) {
        await store.delete(user);
        await expectNone(user, when);
      }
      const again = token();
      await store.set(user, again);
      await expectToken(user, again, 'set again after delete');
    });

    add('keeps a copy, and gives a copy', async (store, { user, token, expectToken }) => {
      const given = token();
      const original = { ...given };
      await store.set(user, given);
      given.value = 'changed after set';
      await expectToken(user, original, 'after the object given to set was changed');
      const got = await store.get(user);
      // `Reflect.set`, because a frozen object is allowed too.
      if (got !== undefined) Reflect.set(got, 'expiresAt', original.expiresAt + 60_000);
      await expectToken(user, original, 'after the object got was changed');
    });

    add('handles many calls at once', async (store, { user, token, expectToken }) => {
      await atOnce(20, [store], async () => {
        const [id, its] = [someUser(), token()];
        await store.set(id, its);
        await expectToken(id, its, 'one of 20 set at once');
      });
      const tokens = await atOnce(20, [store], async () => {
        const its = token();
        await store.set(user, its);
        return its;
      });
      const last = await store.get(user);
      const whole = tokens.find(({ value }) => value === last?.value);
      assert.ok(whole, 'one user set 20 times at once: get gave none of the tokens');
      await expectToken(user, whole, 'one user set 20 times at once');
    });

    add('accepts any user ids, and keeps them apart', async (store, tools) => {
      const { token, expectToken, expectNone } = tools;
      for (const [what, idsOf] of Object.entries(IDS)) {
        const [one, other] = idsOf(someUser());
        const [first, second] = [token(), token()];
        await store.set(one, first);
        await expectNone(other, `another id than one with ${what}`);
        await store.set(other, second);
        await expectToken(one, first, `an id with ${what}`);
        await expectToken(other, second, `another id than one with ${what}`);
        await store.delete(one);
        await expectNone(one, `after delete, an id with ${what}`);
        await expectToken(other, second, `after delete of an id with ${what}, another one`);
        await store.delete(other);
      }
    });

    add('drops a token for one that has expired', async (store, { user, token, expectNone }) => {
      const expired = { ...token(-1000), issuedAt: token(-2 * HOUR).expiresAt };
      await store.set(user, expired);
      await expectNone(user, 'an expired token');
      await store.set(user, token());
      await store.set(user, expired);
      await expectNone(user, 'an expired token in place of a good one');
    });

    add('forgets a token when it expires', async (store, { user, token, expectToken, setup }) => {
      const lifetime = lifetimeIn(setup);
      const [renewed, late] = [someUser(), token(2 * HOUR)];
      await store.set(renewed, token(lifetime));
      await store.set(renewed, late);
      const begin = () => store.set(user, token(lifetime));
      await letExpire(setup, 'a token', begin, async () => (await store.get(user)) === undefined);
      await expectToken(renewed, late, 'one in place of a token that expired');
    });

    /** Adds a test that a store without `claim`, which is optional, passes. */
    const addClaim = (
      title: string,
      test: (store: Required<TokenStore>, tools: Tools) => Promise<void>,
    ) =>
      add(title, async (store, tools) => {
        if (store.claim !== undefined) await test(store as Required<TokenStore>, tools);
      });

    addClaim('grants the first claim of each name, and no other', async (store, tools) => {
      const { user, token, expectToken, expectNone, expectClaim } = tools;
      const its = token();
      await store.set(user, its);
      for (const each of [user, `auth_key:${user}`, `${user} /é`, `${user}a`, `${user}A`]) {
        await expectClaim(each, HOUR, true, 'the first claim of a name must give true');
        for (const count of ['second', 'third']) {
          await expectClaim(each, HOUR, false, `the ${count} claim must give false`);
        }
      }
      await expectToken(user, its, 'after a claim of the same name');
      await store.delete(user);
      await expectClaim(user, HOUR, false, 'delete of a token must not free a claim');
      await expectNone(user, 'after delete');
    });

    addClaim('grants one of 50 claims made at once', async (store, { user }) => {
      const granted = await atOnce(50, [store], () => store.claim(user, HOUR));
      assert.equal(granted.filter(Boolean).length, 1, 'exactly one of 50 claims must give true');
    });

    addClaim('frees a claimed name after its ttl, and not before', async (store, tools) => {
      const { setup, user, expectClaim } = tools;
      const long = randomUUID();
      await expectClaim(long, 2 * HOUR, true, 'the first claim must give true');
      const begin = () =>
        expectClaim(user, lifetimeIn(setup), true, 'the first claim must give true');
      // With another ttl: a refused claim must not prolong the granted one.
      await letExpire(setup, 'a claim', begin, () => store.claim(user, 2 * HOUR));
      await expectClaim(user, HOUR, false, 'a name claimed anew is taken');
      await expectClaim(long, HOUR, false, 'a claim within a longer ttl must give false');
    });
  });
}

/** What a test is made of. */
type Tools = ReturnType<typeof toolsFor>;

const toolsFor = (setup: TokenStoreSetup) => ({
  setup,
  /** An id that no earlier run has used. */
  user: someUser(),
  /** A token that was issued now and equals no other. */
  token(lifetime = HOUR): AccessToken {
    const issuedAt = (setup.clock ?? Date.now)();
    return { value: `token-${randomUUID()}`, issuedAt, expiresAt: issuedAt + lifetime };
  },
  /** Asserts that the store gives this token. The object can have more properties. */
  async expectToken(user: string, expected: AccessToken, when: string) {
    const actual = await setup.store.get(user);
    assert.ok(actual, `${when}: get gave no token`);
    const { value, issuedAt, expiresAt } = actual;
    assert.deepEqual({ value, issuedAt, expiresAt }, expected, `${when}: get gave another token`);
  },
  async expectNone(user: string, when: string) {
    assert.equal(await setup.store.get(user), undefined, `${when}: get must give undefined`);
  },
  /** Asserts what a claim gives. */
  async expectClaim(name: string, ttl: number, expected: boolean, message: string) {
    assert.equal(await setup.store.claim?.(name, ttl), expected, message);
  },
});

const someUser = (): string => `user_${randomUUID().replaceAll('-', '')}`;

/** What a `user_id` can contain, as the specification promises nothing, and an id that is not the same one. */
const IDS: Record<string, (id: string) => [string, string]> = {
  'nothing special': (id) => [id, someUser()],
  'a colon': (id) => [`a:${id}:b`, id],
  'slashes and dots': (id) => [`../${id}/..\\x`, id],
  'a blank at the end': (id) => [`${id} `, id],
  'line breaks': (id) => [`${id}\r\nx`, id],
  'letters of other scripts': (id) => [`ünï-名前-${id}-🔑`, id],
  'quotes and wildcards': (id) => [`'"\`%_*?[${id}]{};--$`, id],
  'a meaning in JavaScript': (id) => ['__proto__', id],
  capitals: (id) => [`${id}A`, `${id}a`],
  '5,000 characters': (id) => [`${id}${'x'.repeat(5000)}1`, `${id}${'x'.repeat(5000)}2`],
  'an é': (id) => [`${id}\u00e9`, `${id}e\u0301`],
  dashes: (id) => [`${id}a--b`, `${id}ab`],
  'an escape': (id) => [`${id}%2F`, `${id}/`],
};

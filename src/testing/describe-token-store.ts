import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AccessToken } from '../model/access-token.js';
import type { TokenStore } from '../stores/token-store.js';
import { HOUR, letPass, SHORT, type SuiteSetup, suite, type TestRunner } from './suite.js';

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
 *
 * @param name the name of the group of tests.
 * @param make makes the store for each test; the store need not be empty.
 * @param runner the runner's `describe` and `it`.
 * @throws TypeError when `make` or `runner` is not usable.
 */
export function describeTokenStore(
  name: string,
  make: () => TokenStoreSetup | Promise<TokenStoreSetup>,
  runner: TestRunner,
): void {
  suite('describeTokenStore', name, make, runner, (add) => {
    add('gives undefined for an unknown user', async ({ store }) => {
      for (const id of [someUser(), 'constructor', 'toString', 'hasOwnProperty']) {
        assertNone(await store.get(id), `a user called ${id}`);
      }
    });

    add('gives back exactly what was set', async (setup) => {
      const user = someUser();
      const token = someToken(setup);
      token.issuedAt -= 1; // A store that rounds can lose an odd millisecond.
      await setup.store.set(user, token);
      assertToken(await setup.store.get(user), token, 'after set');
      assertToken(await setup.store.get(user), token, 'the second time');
    });

    add('keeps a long value with any characters', async (setup) => {
      const user = someUser();
      const odd = '"\'\\ \n\t%s :base64:AAAA é 日本 🔑 ';
      const token = { ...someToken(setup), value: `${odd}${'x'.repeat(4000)}` };
      await setup.store.set(user, token);
      assertToken(await setup.store.get(user), token, 'after set');
    });

    add('replaces the old token by a new one', async (setup) => {
      const user = someUser();
      await setup.store.set(user, someToken(setup));
      const token = someToken(setup, 2 * HOUR);
      await setup.store.set(user, token);
      assertToken(await setup.store.get(user), token, 'after the second set');
    });

    add('deletes a token, and can keep one again', async (setup) => {
      const user = someUser();
      await setup.store.set(user, someToken(setup));
      await setup.store.delete(user);
      assertNone(await setup.store.get(user), 'after delete');
      const token = someToken(setup);
      await setup.store.set(user, token);
      assertToken(await setup.store.get(user), token, 'set again after delete');
    });

    add('deletes nothing without an error', ({ store }) => store.delete(someUser()));

    add('keeps users apart', async (setup) => {
      const { store } = setup;
      const [anna, bert] = [someUser(), someUser()];
      const [annas, berts] = [someToken(setup), someToken(setup)];
      await store.set(anna, annas);
      assertNone(await store.get(bert), 'another user');
      await store.set(bert, berts);
      assertToken(await store.get(anna), annas, 'the first user');
      assertToken(await store.get(bert), berts, 'the second user');
      await store.delete(anna);
      assertToken(await store.get(bert), berts, 'after delete of the first user');
    });

    add('keeps a copy, and gives a copy', async (setup) => {
      const { store } = setup;
      const user = someUser();
      const token = someToken(setup);
      const original = { ...token };
      await store.set(user, token);
      token.value = 'changed after set';
      assertToken(await store.get(user), original, 'after the object given to set was changed');
      const got = await store.get(user);
      // `Reflect.set`, because a frozen object is allowed too.
      if (got !== undefined) Reflect.set(got, 'expiresAt', original.expiresAt + 60_000);
      assertToken(await store.get(user), original, 'after the object got was changed');
    });

    add('handles many calls at once', async (setup) => {
      const { store } = setup;
      const users = Array.from({ length: 50 }, () => ({ id: someUser(), token: someToken(setup) }));
      await Promise.all(users.map(({ id, token }) => store.set(id, token)));
      const got = await Promise.all(users.map(({ id }) => store.get(id)));
      for (const [index, { token }] of users.entries()) {
        assertToken(got[index], token, 'one of 50 users set at once');
      }
      const user = someUser();
      const tokens = Array.from({ length: 20 }, () => someToken(setup));
      await Promise.all(tokens.map((token) => store.set(user, token)));
      const last = await store.get(user);
      const whole = tokens.find(({ value }) => value === last?.value);
      assert.ok(whole, 'one user set 20 times at once: get gave none of the tokens');
      assertToken(last, whole, 'one user set 20 times at once');
    });

    for (const [what, idOf] of Object.entries(ODD_IDS)) {
      add(`accepts a user id with ${what}`, async (setup) => {
        const id = idOf(someUser());
        const token = someToken(setup);
        await setup.store.set(id, token);
        assertToken(await setup.store.get(id), token, 'after set');
        await setup.store.delete(id);
        assertNone(await setup.store.get(id), 'after delete');
      });
    }

    add('accepts __proto__ as a user id', async (setup) => {
      const { store } = setup;
      const token = someToken(setup);
      try {
        await store.set('__proto__', token);
        assertToken(await store.get('__proto__'), token, 'after set');
        assertNone(await store.get(someUser()), 'another user');
      } finally {
        await store.delete('__proto__');
      }
      assertNone(await store.get('__proto__'), 'after delete');
    });

    for (const [what, idsOf] of Object.entries(SIMILAR_IDS)) {
      add(`keeps user ids apart that differ only ${what}`, async (setup) => {
        const kept: { id: string; token: AccessToken }[] = [];
        for (const id of idsOf(someUser())) {
          assertNone(await setup.store.get(id), 'an id like the first');
          const token = someToken(setup);
          await setup.store.set(id, token);
          kept.push({ id, token });
        }
        for (const { id, token } of kept) {
          assertToken(await setup.store.get(id), token, 'when both are set');
        }
      });
    }

    add('gives no token that had expired when it was set', async (setup) => {
      const user = someUser();
      await setup.store.set(user, expiredToken(setup));
      assertNone(await setup.store.get(user), 'an expired token');
    });

    add('drops the old token for an expired one', async (setup) => {
      const user = someUser();
      await setup.store.set(user, someToken(setup));
      await setup.store.set(user, expiredToken(setup));
      assertNone(await setup.store.get(user), 'an expired token in place of a good one');
    });

    add('forgets a token when it expires', async (setup) => {
      const { store, advance } = setup;
      const [user, other] = [someUser(), someUser()];
      const token = someToken(setup, SHORT);
      const longer = someToken(setup);
      await store.set(user, token);
      await store.set(other, longer);
      if (advance !== undefined) {
        assertToken(await store.get(user), token, 'before it expires');
        await advance.call(setup, SHORT - 1000);
        assertToken(await store.get(user), token, 'a second before it expires');
      }
      const isGone = async () => (await store.get(user)) === undefined;
      await letPass(setup, SHORT, isGone, 'get still gives a token after its expiresAt');
      assertToken(await store.get(other), longer, 'one that expires later');
    });

    add('expires with the token that was set last', async (setup) => {
      const { store } = setup;
      const [user, probe] = [someUser(), someUser()];
      await store.set(user, someToken(setup, SHORT));
      const token = someToken(setup);
      await store.set(user, token);
      await store.set(probe, someToken(setup, SHORT));
      const isGone = async () => (await store.get(probe)) === undefined;
      await letPass(setup, SHORT, isGone, 'get still gives a token after its expiresAt');
      assertToken(await store.get(user), token, 'after the replaced token expired');
    });

    /** Adds a test that passes for a store without `claim`, which is optional. */
    const addClaim = (
      title: string,
      test: (claim: Required<TokenStore>['claim'], setup: TokenStoreSetup) => Promise<void>,
    ) =>
      add(`${title} (if it has claim)`, async (setup) => {
        if (setup.store.claim) await test(setup.store.claim.bind(setup.store), setup);
      });

    addClaim('grants the first claim, and no other', async (claim) => {
      const claimed = randomUUID();
      assert.equal(await claim(claimed, HOUR), true, 'the first claim must give true');
      assert.equal(await claim(claimed, HOUR), false, 'the second claim must give false');
      assert.equal(await claim(claimed, HOUR), false, 'the third claim must give false');
    });

    addClaim('grants one of 50 claims made at once', async (claim) => {
      const claimed = randomUUID();
      const granted = await Promise.all(Array.from({ length: 50 }, () => claim(claimed, HOUR)));
      assert.equal(granted.filter(Boolean).length, 1, 'exactly one of 50 claims must give true');
    });

    addClaim('keeps names apart', async (claim) => {
      const names = [randomUUID(), `auth_key:${randomUUID()}`, `${randomUUID()} /é`];
      for (const each of names) {
        assert.equal(await claim(each, HOUR), true, 'the first claim of each name must give true');
      }
    });

    addClaim('keeps claims and tokens apart', async (claim, setup) => {
      const both = someUser();
      const token = someToken(setup);
      await setup.store.set(both, token);
      assert.equal(await claim(both, HOUR), true, 'the first claim must give true');
      assertToken(await setup.store.get(both), token, 'after a claim of the same name');
      await setup.store.delete(both);
      assert.equal(await claim(both, HOUR), false, 'delete of a token must not free a claim');
      assertNone(await setup.store.get(both), 'after delete');
    });

    addClaim('frees a name after its ttl, and not before', async (claim, setup) => {
      const [brief, long] = [randomUUID(), randomUUID()];
      assert.equal(await claim(brief, SHORT), true, 'the first claim must give true');
      assert.equal(await claim(long, HOUR), true, 'the first claim must give true');
      if (setup.advance !== undefined) {
        await setup.advance(SHORT - 1000);
        // With a longer ttl: a refused claim must not prolong the granted one.
        assert.equal(await claim(brief, HOUR), false, 'a claim within the ttl must give false');
      }
      const isFree = () => claim(brief, HOUR);
      await letPass(setup, SHORT, isFree, 'a claim must give true again after the ttl');
      assert.equal(await claim(brief, HOUR), false, 'a name claimed anew is taken');
      assert.equal(await claim(long, HOUR), false, 'a claim within a longer ttl must give false');
    });
  });
}

/** What a `user_id` can contain: the specification promises nothing. */
const ODD_IDS = {
  'a colon': (id: string) => `a:${id}:b`,
  'slashes and dots': (id: string) => `../${id}/..\\x`,
  blanks: (id: string) => ` ${id}  x\t`,
  'line breaks': (id: string) => `${id}\r\nx`,
  'letters of other scripts': (id: string) => `ünï-名前-${id}-🔑`,
  'quotes and wildcards': (id: string) => `'"\`%_*?[${id}]{};--$`,
  '5,000 characters': (id: string) => id + 'x'.repeat(5000),
};

/** Pairs of ids that a store must not treat as one. */
const SIMILAR_IDS = {
  'by capitals': (id: string) => [`${id}a`, `${id}A`],
  'by a blank at the end': (id: string) => [id, `${id} `],
  'after 5,000 characters': (id: string) => ['1', '2'].map((end) => id + 'x'.repeat(5000) + end),
  'in how é is written': (id: string) => [`${id}\u00e9`, `${id}e\u0301`],
  'by dashes': (id: string) => [`${id}ab`, `${id}a--b`],
  'by escaping': (id: string) => [`${id}/`, `${id}%2F`],
};

/** A user id that no earlier run has used. */
const someUser = (): string => `user_${randomUUID().replaceAll('-', '')}`;

/** A token that was issued now and equals no other. */
function someToken({ clock = Date.now }: SuiteSetup, lifetime = HOUR): AccessToken {
  const issuedAt = clock();
  return { value: `token-${randomUUID()}`, issuedAt, expiresAt: issuedAt + lifetime };
}

function expiredToken({ clock = Date.now }: SuiteSetup): AccessToken {
  const now = clock();
  return { value: 'expired', issuedAt: now - 2 * HOUR, expiresAt: now - 1000 };
}

/** Asserts that the store gave this token. The object can have more properties. */
function assertToken(actual: AccessToken | undefined, expected: AccessToken, when: string): void {
  assert.ok(actual, `${when}: get gave no token`);
  const { value, issuedAt, expiresAt } = actual;
  assert.deepEqual({ value, issuedAt, expiresAt }, expected, `${when}: get gave another token`);
}

function assertNone(actual: unknown, when: string): void {
  assert.equal(actual, undefined, `${when}: get must give undefined`);
}

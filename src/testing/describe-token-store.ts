import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AccessToken } from '../model/access-token.js';
import type { TokenStore } from '../stores/token-store.js';
import { atOnce, type SuiteSetup, suite, type TestRunner } from './suite.js';

/** What {@link describeTokenStore} is given for each test. */
export interface TokenStoreSetup extends SuiteSetup {
  /** The store. It need not be empty, because every test uses new user ids. */
  store: TokenStore;
}

const HOUR = 3_600_000;
/** The lifetime of the one token that is waited for. Backends that count in whole seconds can end it up to one early. */
const SHORT = 2000;

const someUser = (): string => `user_${randomUUID().replaceAll('-', '')}`;

/** A token that was issued now and equals no other. */
const token = (lifetime = HOUR): AccessToken => {
  const issuedAt = Date.now();
  return { value: `token-${randomUUID()}`, issuedAt, expiresAt: issuedAt + lifetime };
};

/** Asserts that the store gives this token. The object can have more properties. */
async function expectToken(store: TokenStore, user: string, expected: AccessToken, when: string) {
  const actual = await store.get(user);
  assert.ok(actual, `${when}: get gave no token`);
  const { value, issuedAt, expiresAt } = actual;
  assert.deepEqual({ value, issuedAt, expiresAt }, expected, `${when}: get gave another token`);
}

const expectNone = async (store: TokenStore, user: string, when: string) =>
  assert.equal(await store.get(user), undefined, `${when}: get must give undefined`);

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
 */
export function describeTokenStore(
  name: string,
  make: () => TokenStoreSetup | Promise<TokenStoreSetup>,
  runner: TestRunner,
): void {
  suite('describeTokenStore', name, make, runner, {
    async 'gives back exactly what was set'({ store }) {
      const user = someUser();
      for (const id of [user, 'constructor', 'toString'])
        await expectNone(store, id, `a new user ${id}`);
      const odd = '"\'\\ \n\t%s :base64:AAAA é 日本 🔑 ';
      const { issuedAt, ...rest } = token();
      // A store that rounds can lose an odd millisecond.
      const whole = { ...rest, issuedAt: issuedAt - 1, value: `${odd}${'x'.repeat(4000)}` };
      await store.set(user, whole);
      for (const time of ['first', 'second'])
        await expectToken(store, user, whole, `the ${time} time`);
    },

    async 'replaces, deletes and keeps a token again'({ store }) {
      const user = someUser();
      for (const its of [token(), token(2 * HOUR)]) {
        await store.set(user, its);
        await expectToken(store, user, its, 'after set');
      }
      for (const when of ['after delete', 'after delete of nothing']) {
        await store.delete(user);
        await expectNone(store, user, when);
      }
      const again = token();
      await store.set(user, again);
      await expectToken(store, user, again, 'set again after delete');
    },

    async 'keeps a copy, and gives a copy'({ store }) {
      const [user, given] = [someUser(), token()];
      const original = { ...given };
      await store.set(user, given);
      given.value = 'changed after set';
      await expectToken(store, user, original, 'after the object given to set was changed');
      const got = await store.get(user);
      // `Reflect.set`, because a frozen object is allowed too.
      if (got !== undefined) Reflect.set(got, 'expiresAt', original.expiresAt + 60_000);
      await expectToken(store, user, original, 'after the object got was changed');
    },

    async 'handles many calls at once'({ store }) {
      await atOnce(20, async () => {
        const [id, its] = [someUser(), token()];
        await store.set(id, its);
        await expectToken(store, id, its, 'one of 20 set at once');
      });
      const user = someUser();
      const tokens = await atOnce(20, async () => {
        const its = token();
        await store.set(user, its);
        return its;
      });
      const last = await store.get(user);
      const whole = tokens.find(({ value }) => value === last?.value);
      assert.ok(whole, 'one user set 20 times at once: get gave none of the tokens');
      await expectToken(store, user, whole, 'one user set 20 times at once');
    },

    async 'accepts any user ids, and keeps them apart'({ store }) {
      for (const [what, idsOf] of Object.entries(IDS)) {
        const [one, other] = idsOf(someUser());
        const [first, second] = [token(), token()];
        await store.set(one, first);
        await expectNone(store, other, `another id than one with ${what}`);
        await store.set(other, second);
        await expectToken(store, one, first, `an id with ${what}`);
        await expectToken(store, other, second, `another id than one with ${what}`);
        await store.delete(one);
        await expectNone(store, one, `after delete, an id with ${what}`);
        await expectToken(store, other, second, `after delete of an id with ${what}, another one`);
        await store.delete(other);
      }
    },

    async 'drops a token for one that has expired'({ store }) {
      const user = someUser();
      const expired = { ...token(-1000), issuedAt: Date.now() - 2 * HOUR };
      await store.set(user, expired);
      await expectNone(store, user, 'an expired token');
      await store.set(user, token());
      await store.set(user, expired);
      await expectNone(store, user, 'an expired token in place of a good one');
    },

    async 'forgets a token when it expires'({ store }) {
      const [user, renewed, late] = [someUser(), someUser(), token(2 * HOUR)];
      const begun = Date.now();
      for (const id of [user, renewed]) await store.set(id, token(SHORT));
      await store.set(renewed, late);
      while ((await store.get(user)) !== undefined) {
        assert.ok(Date.now() - begun < SHORT + 2000, 'a token did not end after its time');
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      assert.ok(Date.now() - begun > SHORT - 1000, 'a token ended before its time');
      await expectToken(store, renewed, late, 'one in place of a token that expired');
    },
  });
}

import assert from 'node:assert/strict';
import { assertNone, assertToken } from './token-assertions.js';
import { type AddTest, someToken, someUser } from './token-store-setup.js';

/** That a store keeps tokens: what is put in comes out, whole, and by itself. */
export function addKeepingTests(add: AddTest): void {
  add('gives undefined for a user it does not know', async ({ store }) => {
    assertNone(await store.get(someUser()), 'an unknown user');
    for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
      assertNone(await store.get(name), `a user called ${name}`);
    }
  });

  add('gives back what was set, exactly', async (setup) => {
    const user = someUser();
    const token = someToken(setup);
    token.issuedAt -= 1; // An odd millisecond is easily lost to rounding.
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

  add('puts a new token in place of the old one', async (setup) => {
    const user = someUser();
    await setup.store.set(user, someToken(setup));
    const token = someToken(setup, 7_200_000);
    await setup.store.set(user, token);
    assertToken(await setup.store.get(user), token, 'after the second set');
  });

  add('forgets a token that is deleted, and can keep one again', async (setup) => {
    const user = someUser();
    await setup.store.set(user, someToken(setup));
    await setup.store.delete(user);
    assertNone(await setup.store.get(user), 'after delete');
    const token = someToken(setup);
    await setup.store.set(user, token);
    assertToken(await setup.store.get(user), token, 'set again after delete');
  });

  add('takes it calmly when there is nothing to delete', async ({ store }) => {
    await store.delete(someUser());
  });

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

  add('is not changed by what happens to the objects', async (setup) => {
    const { store } = setup;
    const user = someUser();
    const token = someToken(setup);
    const original = { ...token };
    await store.set(user, token);
    token.value = 'changed after set';
    assertToken(await store.get(user), original, 'after the object given to set was changed');
    const got = await store.get(user);
    // A frozen object is as good an answer: then the change is refused.
    if (got !== undefined) Reflect.set(got, 'expiresAt', original.expiresAt + 60_000);
    assertToken(await store.get(user), original, 'after the object got was changed');
  });

  add('copes with many at once', async (setup) => {
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
}

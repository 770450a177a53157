import { pass, presentOf } from './passing-time.js';
import { assertNone, assertToken } from './token-assertions.js';
import { type AddTest, someToken, someUser } from './token-store-setup.js';

/** Milliseconds; more than a second, since some backends count in seconds. */
const SHORT = 1500;

/** That a store never gives a token that has ended. */
export function addExpiryTests(add: AddTest): void {
  add('does not give a token that was over when it was set', async (setup) => {
    const user = someUser();
    const now = presentOf(setup);
    await setup.store.set(user, {
      value: 'over',
      issuedAt: now - 7_200_000,
      expiresAt: now - 1000,
    });
    assertNone(await setup.store.get(user), 'a token that was over');
  });

  add('drops the old token also for one that is over', async (setup) => {
    const user = someUser();
    const now = presentOf(setup);
    await setup.store.set(user, someToken(setup));
    await setup.store.set(user, {
      value: 'over',
      issuedAt: now - 7_200_000,
      expiresAt: now - 1000,
    });
    assertNone(await setup.store.get(user), 'a token that was over, in place of a good one');
  });

  add('forgets a token when it ends', async (setup) => {
    const { store, advance } = setup;
    const [user, other] = [someUser(), someUser()];
    const token = someToken(setup, SHORT);
    const longer = someToken(setup);
    await store.set(user, token);
    await store.set(other, longer);
    if (advance !== undefined) {
      assertToken(await store.get(user), token, 'before it ends');
      await advance.call(setup, SHORT - 1000);
      assertToken(await store.get(user), token, 'a second before it ends');
    }
    const isGone = async () => (await store.get(user)) === undefined;
    await pass(setup, SHORT, isGone, 'get still gives a token after its expiresAt');
    assertToken(await store.get(other), longer, 'one that ends later');
  });

  add('goes by the token that was set last', async (setup) => {
    const { store } = setup;
    const [user, probe] = [someUser(), someUser()];
    await store.set(user, someToken(setup, SHORT));
    const token = someToken(setup);
    await store.set(user, token);
    await store.set(probe, someToken(setup, SHORT));
    const isGone = async () => (await store.get(probe)) === undefined;
    await pass(setup, SHORT, isGone, 'get still gives a token after its expiresAt');
    assertToken(await store.get(user), token, 'after the end of the one it replaced');
  });
}

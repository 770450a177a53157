import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TokenStore } from '../stores/token-store.js';
import { pass } from './passing-time.js';
import { assertNone, assertToken } from './token-assertions.js';
import { type AddTest, someToken, someUser, type TokenStoreSetup } from './token-store-setup.js';

const HOUR = 3_600_000;

/** Milliseconds; more than a second, since some backends count in seconds. */
const SHORT = 1500;

type Claim = NonNullable<TokenStore['claim']>;

/** That a claim is won once. Nothing is tested where a store does not claim, which it need not. */
export function addClaimTests(add: AddTest): void {
  const addClaim = (name: string, test: (claim: Claim, setup: TokenStoreSetup) => Promise<void>) =>
    add(`${name} (if it has claim)`, async (setup) => {
      const { claim } = setup.store;
      if (claim !== undefined) await test(claim.bind(setup.store), setup);
    });

  addClaim('lets the first claim win, and no other', async (claim) => {
    const name = randomUUID();
    assert.equal(await claim(name, HOUR), true, 'the first claim must give true');
    assert.equal(await claim(name, HOUR), false, 'the second claim must give false');
    assert.equal(await claim(name, HOUR), false, 'the third claim must give false');
  });

  addClaim('lets one of 50 win who claim at once', async (claim) => {
    const name = randomUUID();
    const won = await Promise.all(Array.from({ length: 50 }, () => claim(name, HOUR)));
    assert.equal(won.filter(Boolean).length, 1, 'exactly one of 50 claims must give true');
  });

  addClaim('keeps names apart', async (claim) => {
    const names = [randomUUID(), `auth_key:${randomUUID()}`, `${randomUUID()} /é`];
    for (const name of names) {
      assert.equal(await claim(name, HOUR), true, 'the first claim of each name must give true');
    }
  });

  addClaim('does not mix up claims and tokens', async (claim, setup) => {
    const name = someUser();
    const token = someToken(setup);
    await setup.store.set(name, token);
    assert.equal(await claim(name, HOUR), true, 'the first claim must give true');
    assertToken(await setup.store.get(name), token, 'after a claim of the same name');
    await setup.store.delete(name);
    assert.equal(await claim(name, HOUR), false, 'delete of a token must not free a claim');
    assertNone(await setup.store.get(name), 'after delete');
  });

  addClaim('frees a name when its time is over, and not before', async (claim, setup) => {
    const [brief, long] = [randomUUID(), randomUUID()];
    assert.equal(await claim(brief, SHORT), true, 'the first claim must give true');
    assert.equal(await claim(long, HOUR), true, 'the first claim must give true');
    if (setup.advance !== undefined) {
      await setup.advance(SHORT - 1000);
      // For longer: whoever loses must not prolong the claim of the one who won.
      assert.equal(await claim(brief, HOUR), false, 'a claim within the ttl must give false');
    }
    const isFree = () => claim(brief, HOUR);
    await pass(setup, SHORT, isFree, 'a claim must give true again after the ttl');
    assert.equal(await claim(brief, HOUR), false, 'a name claimed anew is taken');
    assert.equal(await claim(long, HOUR), false, 'a claim within its own, longer ttl gives false');
  });
}

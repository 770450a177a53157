import { randomUUID } from 'node:crypto';
import type { AccessToken } from '../model/access-token.js';
import type { TokenStore } from '../stores/token-store.js';
import { type Clocked, presentOf } from './passing-time.js';

/** What {@link describeTokenStore} is given anew for each test. */
export interface TokenStoreSetup extends Clocked {
  /** The store. It may hold what earlier tests left: the suite makes up new user ids. */
  store: TokenStore;
  /** Ends what was begun for it. Awaited after the test, also after one that failed. */
  close?(): unknown;
}

/** Runs one test on a store of its own. */
export type StoreTest = (setup: TokenStoreSetup) => Promise<void>;

/** Adds a test to the suite. */
export type AddTest = (name: string, test: StoreTest) => void;

/** A user id that no earlier run has used. */
export const someUser = (): string => `user_${randomUUID().replaceAll('-', '')}`;

/** A token that was issued just now and is like no other. */
export function someToken(setup: TokenStoreSetup, lifetime = 3_600_000): AccessToken {
  const issuedAt = presentOf(setup);
  return { value: `token-${randomUUID()}`, issuedAt, expiresAt: issuedAt + lifetime };
}

import { hash } from 'node:crypto';
import { latest } from '../latest.js';
import type { GuardedTokenStore } from '../stores/token-store.js';

/** How long a claim is remembered, in milliseconds. The service refuses a used auth_key for ever. */
const CLAIM_LIFETIME = 3_600_000;

/**
 * Lets each auth_key, each attempt and each "Continue" be used once: in this process, and in the fleet if the token
 * store has `claim`. Only hashes are stored.
 *
 * @param scope keeps strategies that share a token store apart.
 */
export function claimsIn(store: GuardedTokenStore | undefined, scope: string) {
  const known = latest<string, true>(10_000);
  const nameOf = (key: string) => `used:${hash('sha256', `${scope} ${key}`, 'base64url')}`;
  return {
    /** Whether this process knows that the key was used. */
    has: (key: string): boolean => known.has(nameOf(key)),

    /** True for the first caller. */
    async claim(key: string): Promise<boolean> {
      const name = nameOf(key);
      if (known.has(name)) return false;
      known.set(name, true);
      try {
        return (await store?.claim(name, CLAIM_LIFETIME)) ?? true;
      } catch (error) {
        // A retry asks the store again, which can have the claim all the same.
        known.delete(name);
        throw error;
      }
    },
  };
}

/**
 * A `ttl` that is no number would end a claim at once, or never: with the one an auth_key could be
 * spent twice, so neither is taken.
 *
 * @throws TypeError that names the store.
 */
export function checkClaim(owner: string, ttl: unknown): void {
  if (Number.isFinite(ttl) && Number(ttl) > 0) return;
  throw new TypeError(`${owner}: the "ttl" of a claim must be a positive number (milliseconds)`);
}

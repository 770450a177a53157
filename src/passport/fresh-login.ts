const FRESH = Symbol.for('marketgate.freshLogin');

/**
 * Whether this request of the callback has just logged somebody in. A callback that is opened again by
 * a logged-in user (a reload, a second tab) reaches the handler too, and must not renew a login: a stolen
 * login cookie could then be kept alive for ever.
 */
export const isFreshLogin = (req: object): boolean =>
  (req as { [FRESH]?: unknown })[FRESH] === true;

/** Marks the request for {@link isFreshLogin}. */
export function markFreshLogin(req: object): void {
  Object.defineProperty(req, FRESH, { value: true, configurable: true });
}

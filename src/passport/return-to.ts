const LONGEST = 2048;
// Registered, because the strategy and the app can come from the two builds of the package.
const RETURN_TO = Symbol.for('marketgate.returnTo');

type Marked = { [RETURN_TO]?: string | undefined };

/**
 * A path on this site, or `undefined`. The whole value is dropped when it leads elsewhere or could be
 * understood so by some browser: `//evil`, `/\evil`, `https:evil`, anything with a backslash or a
 * control character. Nothing is repaired, for a repaired attack is still one.
 */
export function safeReturnTo(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LONGEST) return undefined;
  if (!value.startsWith('/') || value.startsWith('//')) return undefined;
  if (/[\\\p{Cc}\p{Zl}\p{Zp}]/u.test(value)) return undefined;
  const here = 'http://here.invalid';
  if (!URL.canParse(value, here)) return undefined;
  const url = new URL(value, here);
  // "/.//evil" becomes "//evil" when a program normalises it before it redirects.
  return url.origin === here && !url.pathname.startsWith('//') ? value : undefined;
}

/**
 * Where the visitor wanted to go before the login: the `returnTo` given to
 * `authenticate('marketplace', { returnTo })`. For the handler after the callback; same-origin only,
 * `undefined` when there is none. It does not lie in the session, so passport's regeneration of it
 * loses nothing.
 */
export function returnTo(req: object): string | undefined {
  return safeReturnTo((req as Marked)[RETURN_TO]);
}

/** Leaves the path for {@link returnTo}, with the request that the callback came in. */
export function leaveReturnTo(req: object, path: string | undefined): void {
  // Most logins have none, and a request gets a new shape with every property.
  if (path !== undefined || RETURN_TO in req) (req as Marked)[RETURN_TO] = path;
}

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

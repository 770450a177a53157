// Registered, because the strategy and the app can come from two copies of the package.
const LOGIN = Symbol.for('marketgate.login');

type Marked = { [LOGIN]?: boolean };

const mark = (req: object, isFresh: boolean): void =>
  void Object.defineProperty(req, LOGIN, { value: isFresh, configurable: true });

/** Called where the strategy runs: only there is a request part of a login, whatever its query says. */
export const markLoginRequest = (req: object): void => mark(req, false);

/** Called when the request has logged a user in. */
export const markFreshLogin = (req: object): void => mark(req, true);

/** Whether the strategy has run on this request, which is no page to come back to after a login. */
export const isLoginRequest = (req: object): boolean => LOGIN in req;

/**
 * Whether this request has just logged a user in. A callback that a logged-in user opens again (a reload, a second tab)
 * reaches the handler too, which must not renew the login then: a stolen login cookie could be kept alive for ever.
 */
export const isFreshLogin = (req: object): boolean => (req as Marked)[LOGIN] === true;

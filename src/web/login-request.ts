/** How long a visitor can take to log in, in milliseconds. */
export const LOGIN_LIFETIME = 10 * 60_000;

// Registered, because the strategy and the app can come from two copies of the package.
const LOGIN = Symbol.for('marketgate.login');

/** What the package notes on a request, for the handler behind a login. */
interface LoginNotes {
  /** Whether the request has logged a user in. Absent where the strategy has not run. */
  readonly isFresh?: boolean;
  /** Where the visitor wanted to go, as far as that is known. */
  readonly returnTo?: string | undefined;
  /** Where the visitor can choose another account, if this one is the reason that nobody was logged in. */
  readonly marketplace?: string;
}

export const notesOf = (req: object): LoginNotes => (req as { [LOGIN]?: LoginNotes })[LOGIN] ?? {};

/** Adds to the notes. */
export const note = (req: object, notes: LoginNotes): void =>
  void Object.defineProperty(req, LOGIN, {
    value: { ...notesOf(req), ...notes },
    configurable: true,
  });

/** Whether the strategy has run on this request, which is no page to come back to after a login. */
export const isLoginRequest = (req: object): boolean => notesOf(req).isFresh !== undefined;

/**
 * Whether this request has just logged a user in. A callback that a logged-in user opens again (a reload, a second tab)
 * reaches the handler too, which must not renew the login then: a stolen login cookie could be kept alive for ever.
 */
export const isFreshLogin = (req: object): boolean => notesOf(req).isFresh === true;

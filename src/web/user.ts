import { sessionOf } from './express-session.js';

/** Where passport puts the user of a request: `req.user`, or what `passport.initialize({ userProperty })` names. */
export function userOfApp(req: object): unknown {
  const { _userProperty: name = 'user' } = req as { readonly _userProperty?: string };
  return Reflect.get(req, name);
}

/** Whether somebody is logged in, as the handlers of the app see it. */
export const isLoggedIn = (req: object): boolean => Boolean(userOfApp(req));

/**
 * The app's own user who is logged in, as `verify` or `deserializeUser` returned it: `req.user`, typed and present.
 *
 * @throws Error when nobody is logged in.
 *
 * @example
 * app.get('/account', requireLogin(), (req, res) => res.json(currentUser(req).id));
 */
export function currentUser(req: object): Express.User {
  const user = userOfApp(req);
  if (user) return user as Express.User;
  throw new Error(
    'currentUser: nobody is logged in on this request; put requireLogin() before this handler',
  );
}

/** What passport has serialized of the logged-in user in the session; `undefined` for nobody. */
export function serializedUser(req: object): unknown {
  const { _sessionManager: manager } = req as { readonly _sessionManager?: { _key?: string } };
  const kept = sessionOf(req)?.[manager?._key ?? 'passport'];
  const { user } = Object(kept) as { readonly user?: unknown };
  return user || user === 0 ? user : undefined;
}

/**
 * A text that is the same at each request of the same logged-in user; `undefined` for nobody. It is made of what passport
 * has serialized, so that it does not matter where an app's users have their ids. Without a session of passport's it is the
 * `id` of the user.
 */
export function identityOf(req: object): string | undefined {
  const serialized = serializedUser(req);
  if (serialized !== undefined) return `session ${JSON.stringify(serialized)}`;
  return isLoggedIn(req) ? identityOfUser(userOfApp(req)) : undefined;
}

/** {@link identityOf} of a user whom passport keeps in no session. */
export const identityOfUser = (user: unknown): string =>
  `id ${String((Object(user) as { readonly id?: unknown }).id)}`;

/**
 * Makes an app's function that reads the user's id, as in `(req) => req.user.id`, give nothing where nobody is logged
 * in, and it throws a TypeError. Any other error is passed on, such as one of a database.
 */
export const idOfUser =
  <R extends object, T>(idOf: (req: R) => T | Promise<T>) =>
  async (req: R): Promise<T | undefined> => {
    try {
      return await idOf(req);
    } catch (error) {
      if (error instanceof TypeError && !isLoggedIn(req)) return undefined;
      throw error;
    }
  };

import { inspect } from 'node:util';

/** Whether somebody is logged in: passport sets `req.user`. */
export const isLoggedIn = (req: object): boolean => Boolean((req as { user?: unknown }).user);

/**
 * The app's own user who is logged in, as `verify` or `deserializeUser` returned it: `req.user`, typed and present.
 *
 * @throws Error when nobody is logged in.
 *
 * @example
 * app.get('/account', requireLogin(), (req, res) => res.json(currentUser(req).id));
 */
export function currentUser(req: object): Express.User {
  const { user } = req as { user?: Express.User | null };
  if (user) return user;
  throw new Error(
    'currentUser: nobody is logged in on this request; put requireLogin() before this handler',
  );
}

/** Where users usually have what tells them apart. */
const ID_NAMES = [
  ...(['id', '_id', 'sub', 'userId', 'user_id', 'uid', 'uuid'] as const),
  ...(['username', 'email'] as const),
];

/** A text that is the same for the same user of the app, at each request. */
export function identityOf(user: unknown): string {
  const fields = Object(user) as Record<string, unknown>;
  for (const name of ID_NAMES) {
    const id = fields[name];
    // Some databases have objects with a text of their own for ids. A method is none: every string has one named "sub".
    const text = id === undefined || id === null || typeof id === 'function' ? '' : String(id);
    if (text !== '' && !text.startsWith('[object ')) return `${name} ${text}`;
  }
  try {
    return JSON.stringify(user);
  } catch {
    // The bigint of a database, or a record that leads back to itself: through a connection, it can be of any size.
    return inspect(user, { depth: 4 });
  }
}

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

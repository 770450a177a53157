import { hash } from 'node:crypto';

/** The name of a strategy that was given none. */
export const DEFAULT_NAME = 'marketplace';

/**
 * What the tokens of a strategy are stored under: the `user_id`, and for a strategy of another name
 * that name before it, so that two marketplaces never mix up their users.
 */
export const tokenNameFor =
  (strategy: string) =>
  (userId: string): string =>
    strategy === DEFAULT_NAME ? userId : `${strategy}:${userId}`;

/**
 * What keeps the login attempts and used auth_keys of two strategies apart. The login URL counts too:
 * `passport.use('other', strategy)` registers a strategy under a name that it does not know.
 */
export const scopeFor = (strategy: string, loginUrl: string): string =>
  hash('sha256', `${loginUrl} ${strategy}`, 'base64url').slice(0, 12);

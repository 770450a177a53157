import { hash } from 'node:crypto';

/**
 * What keeps the login attempts and used auth_keys of two strategies apart. The login URL counts too:
 * `passport.use('other', strategy)` registers a strategy under a name that it does not know.
 */
export const scopeFor = (strategy: string, loginUrl: string): string =>
  hash('sha256', `${loginUrl} ${strategy}`, 'base64url').slice(0, 12);

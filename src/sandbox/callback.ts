import type { SandboxContext } from './context.js';
import { findOrThrow, firstCredentials } from './data.js';
import type { SeedApp } from './schema.js';

/**
 * Where an accepted login leads: the redirect URL of the app, which must have one. `?auth_key=` is appended
 * literally, and nothing else (field notes), unless `echoState` sends the `state` back.
 */
export function callbackUrl(
  { credentials, dialect }: SandboxContext,
  { app_id, redirect_url }: Readonly<SeedApp>,
  userId: string,
  state = '',
): string {
  const echo = dialect.echoState && state ? `&state=${encodeURIComponent(state)}` : '';
  return `${redirect_url}?auth_key=${credentials.issueAuthKey(app_id, userId)}${echo}`;
}

/**
 * Where the browser goes after a login was accepted in a user's name.
 * @throws TypeError where there is no such user or app, or the app has no redirect URL.
 */
export function acceptLogin(
  context: SandboxContext,
  userId: string,
  appId = firstCredentials(context.data).appId,
  state?: string,
): string {
  const app = findOrThrow(context.data.apps, 'app_id', appId);
  const { user_id } = findOrThrow(context.data.users, 'user_id', userId);
  if (app.redirect_url === undefined) {
    throw new TypeError(
      'acceptLogin: the app has no redirect URL; register one with sandbox.data.setRedirectUrl(appId, url) or "marketgate sandbox set-redirect", or for the first app with the option redirectUrl',
    );
  }
  return callbackUrl(context, app, user_id, state);
}

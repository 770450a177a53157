import type { Request } from 'express';
import { MarketgateError } from '../errors.js';
import { isPrefetch } from '../express/navigation.js';
import { leaveReturnTo, safeReturnTo, takeSavedReturnTo } from '../express/return-to.js';
import type { AccessToken } from '../model/access-token.js';
import { readAuthKey } from './auth-key.js';
import { type ConfirmationInput, confirmationPath, readConfirmation } from './confirmation.js';
import { isForeignStart, isFramed, isSubresource } from './fetch-metadata.js';
import { markFreshLogin } from './fresh-login.js';
import {
  beginAttempt,
  findConfirmation,
  type LoginAttempt,
  openAttempts,
  takeAttempt,
  takeConfirmation,
} from './login-attempts.js';
import {
  ALREADY_USED,
  CANCELLED,
  failure,
  NOT_STARTED_HERE,
  type Outcome,
  orFailure,
} from './outcome.js';
import type { PendingLogins } from './pending-logins.js';
import { type MarketplaceProfile, profileOf } from './profile.js';
import type { StrategySettings } from './strategy-options.js';
import type { UsedKeys } from './used-keys.js';
import type { RunVerify } from './verify.js';

/** What a login needs. */
export interface LoginParts extends StrategySettings {
  readonly usedKeys: UsedKeys;
  readonly pendingLogins: PendingLogins;
  readonly verify: RunVerify;
  /** The name under which a user's token is stored: the `user_id`, for the strategy "marketplace". */
  readonly tokenName: (userId: string) => string;
}

/**
 * The steps of a login: the start; the callback, known by its auth_key; and with `confirm` the
 * visitor's answer, known by its attempt.
 *
 * @param wanted - the `returnTo` of the app, not yet trusted.
 */
export async function runLogin(parts: LoginParts, req: Request, wanted: unknown): Promise<Outcome> {
  if (isPrefetch(req) || req.method === 'HEAD') {
    // An error and not a failure: a redirect would be kept, and shown as the result of the login.
    throw new MarketgateError(
      'login_failed',
      'a prefetch or HEAD of a login was refused, so that it spends neither an auth_key nor where the visitor wants to go; follow the link instead',
    );
  }
  const authKey = readAuthKey(req);
  const confirmation = parts.confirm ? readConfirmation(req) : undefined;
  if (isSubresource(req) && (authKey.kind !== 'none' || confirmation !== undefined)) {
    throw new MarketgateError(
      'login_failed',
      'a callback that is no navigation (an image, a script, a fetch) was refused, so that it spends no auth_key; follow the link instead',
    );
  }
  if (authKey.kind === 'none' && confirmation === undefined) return start(parts, req, wanted);
  if (authKey.kind === 'broken') {
    return failure('auth_key_rejected', `The login could not be completed: ${authKey.why}.`);
  }
  const ended =
    authKey.kind === 'key'
      ? await callback(parts, req, authKey.value, wanted)
      : confirmation && (await answered(parts, req, confirmation));
  return ended ?? NOT_STARTED_HERE;
}

async function start(parts: LoginParts, req: Request, wanted: unknown): Promise<Outcome> {
  const saved = takeSavedReturnTo(req);
  const returnTo = safeReturnTo(wanted) ?? saved;
  const foreign = isForeignStart(req) ? true : undefined;
  const { id } = await beginAttempt(parts.attempts, req, parts.clock(), { returnTo, foreign });
  const url = parts.loginApi.loginUrl();
  return {
    type: 'redirect',
    url: parts.state ? `${url}&${new URLSearchParams({ state: id })}` : url,
  };
}

async function callback(
  parts: LoginParts,
  req: Request,
  authKey: string,
  wanted: unknown,
): Promise<Outcome> {
  const used = parts.usedKeys.find(authKey);
  if (used !== undefined) {
    // A reload or a second tab of a browser that has what it came for: nothing is spent, and no other
    // tab's attempt is taken.
    if (isLoggedIn(req)) return passOn(req, used.returnTo);
    // Who did not start a login here does not learn what became of the key.
    const open = await openAttempts(parts.attempts, req, parts.clock());
    return open.length > 0 ? ALREADY_USED : NOT_STARTED_HERE;
  }

  const asks = await mustAsk(parts, req);
  const attempt = await attemptOf(parts, req);
  if (attempt === undefined) {
    return isLoggedIn(req) ? passOn(req, safeReturnTo(wanted)) : NOT_STARTED_HERE;
  }
  const returnTo = attempt.returnTo ?? safeReturnTo(wanted);
  if (!(await parts.usedKeys.claim(authKey, { returnTo }))) return ALREADY_USED;

  const found = await orFailure(async () => {
    const token = await parts.loginApi.exchange(authKey);
    return { token, profile: await profileFor(parts, token) };
  });
  if ('failure' in found) {
    // Of two tabs the service lets only the newest key live; the visitor has what both came for.
    const isDead = found.code === 'auth_key_rejected';
    return isDead && isLoggedIn(req) ? passOn(req, returnTo) : found.failure;
  }
  const { token, profile } = found;
  if (asks) return ask(parts, req, profile, token, returnTo);
  return complete(parts, req, profile, token, returnTo);
}

async function mustAsk({ attempts, clock, confirm }: LoginParts, req: Request): Promise<boolean> {
  if (confirm !== 'auto') return confirm;
  // A page of another site can put the callback into a frame that nobody sees.
  if (isFramed(req)) return true;
  // The service does not say which attempt a callback belongs to, so one foreign attempt counts for all.
  const open = await openAttempts(attempts, req, clock());
  return open.some(({ foreign }) => foreign);
}

/**
 * The attempt that this callback belongs to, taken from the browser before anything is spent. Two
 * requests at once both find the same, and a browser can send a copy of its cookie again: who comes
 * second goes on to the next.
 */
async function attemptOf(parts: LoginParts, req: Request): Promise<LoginAttempt | undefined> {
  const { attempts, clock, state, usedKeys } = parts;
  const echoed: unknown = state ? req.query.state : undefined;
  if (state && typeof echoed !== 'string') return undefined;
  for (;;) {
    const attempt = await takeAttempt(attempts, req, clock(), echoed as string | undefined);
    if (attempt === undefined || (await usedKeys.claim(attempt.id))) return attempt;
  }
}

async function ask(
  parts: LoginParts,
  req: Request,
  profile: MarketplaceProfile,
  token: AccessToken,
  returnTo: string | undefined,
): Promise<Outcome> {
  const name = shown(profile.displayName ?? profile.id);
  // Anybody can take anybody's name; the user name is the account's own.
  const username = shown(profile.username ?? profile.id);
  const about = { returnTo, name, username, userId: profile.id };
  const { id } = await beginAttempt(parts.attempts, req, parts.clock(), about);
  await parts.pendingLogins.keep(id, { token, userId: profile.id, returnTo });
  return { type: 'redirect', url: confirmationPath(req, id) };
}

async function answered(
  parts: LoginParts,
  req: Request,
  { id, answer }: ConfirmationInput,
): Promise<Outcome> {
  const { attempts, clock, pendingLogins, usedKeys } = parts;
  const notWaiting = (): Outcome => (isLoggedIn(req) ? passOn(req, undefined) : NOT_STARTED_HERE);
  if (answer === undefined) {
    const waiting = await findConfirmation(attempts, req, clock(), id);
    if (waiting === undefined) return notWaiting();
    return { type: 'ask', id, name: waiting.name, username: waiting.username };
  }
  const attempt = await takeConfirmation(attempts, req, clock(), id);
  if (answer === 'cancel') {
    if (attempt === undefined) return notWaiting();
    // Before the claim: who loses the claim to this answer must find no login.
    await pendingLogins.drop(id);
    await usedKeys.claim(id);
    return CANCELLED;
  }
  const isFirst = attempt !== undefined && (await usedKeys.claim(id));
  const login = await (attempt ? pendingLogins.find(id) : pendingLogins.findAnswered(id, req));
  if (login === undefined) return notWaiting();
  // The second request of a double click ends as the first does: the browser shows only the second.
  if (isFirst) await pendingLogins.answered(id, req, login);
  const { token, userId, returnTo } = login;
  const found = await orFailure(async () => ({ profile: await profileFor(parts, token) }));
  if ('failure' in found) return found.failure;
  // The visitor agreed to this account and to no other.
  if (found.profile.id !== userId) return NOT_STARTED_HERE;
  return complete(parts, req, found.profile, token, returnTo);
}

async function profileFor(
  { loginApi }: LoginParts,
  token: AccessToken,
): Promise<MarketplaceProfile> {
  return profileOf(await loginApi.getUser(token), siteOf(loginApi.loginUrl()));
}

async function complete(
  { attempts, tokenStore, tokenName, verify }: LoginParts,
  req: Request,
  profile: MarketplaceProfile,
  token: AccessToken,
  returnTo: string | undefined,
): Promise<Outcome> {
  await tokenStore?.set(tokenName(profile.id), token);
  const { user, info } = await verify({ profile, token, req });
  if (!user) return { type: 'fail', challenge: info, status: 401 };
  // What other tabs have begun ends here: a stranger's callback must not find an attempt, and move who
  // is logged in to another account.
  await attempts.write(req, []);
  leaveReturnTo(req, returnTo);
  markFreshLogin(req);
  return { type: 'success', user, info: info ?? {} };
}

function passOn(req: Request, returnTo: string | undefined): Outcome {
  leaveReturnTo(req, returnTo);
  return { type: 'pass' };
}

/** As much of a name as fits on a page and into a cookie. */
const shown = (name: string): string => [...name].slice(0, 100).join('');

const isLoggedIn = (req: Request): boolean => Boolean((req as { user?: unknown }).user);

/** The login service's own address, out of ".../api/oauth?app_id=…". */
const siteOf = (loginUrl: string): string => loginUrl.replace(/\/api\/oauth\?.*/, '/');

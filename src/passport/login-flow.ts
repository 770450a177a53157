import { randomBytes } from 'node:crypto';
import type { Request } from 'express';
import { isMarketgateError, MarketgateError } from '../errors/marketgate-error.js';
import { readAuthKey } from './auth-key.js';
import type { LoginAttempts } from './login-attempts.js';
import { profileOf } from './profile.js';
import { leaveReturnTo, safeReturnTo } from './return-to.js';
import type { StrategySettings } from './strategy-options.js';
import type { UsedKeys } from './used-keys.js';
import type { RunVerify } from './verify.js';

/** How an authentication ends: in one of these, by construction. An error is a rejection. */
export type Outcome =
  | { readonly type: 'redirect'; readonly url: string }
  | { readonly type: 'success'; readonly user: Express.User; readonly info: object }
  | { readonly type: 'fail'; readonly challenge: object | undefined; readonly status: number }
  | { readonly type: 'pass' };

/** What a login needs. */
export interface LoginParts extends StrategySettings {
  readonly attempts: LoginAttempts;
  readonly usedKeys: UsedKeys;
  readonly verify: RunVerify;
}

/** What the service says of the visitor, and not of this site or of itself: passport's `fail`. */
const FAILURES: ReadonlySet<string> = new Set([
  'auth_key_rejected',
  'login_failed',
  'access_token_expired',
]);

const failure = (code: string, message: string, status = 401): Outcome => ({
  type: 'fail',
  challenge: { code, message },
  status,
});

/** Both halves of the login: the start, and the callback that is known by its auth_key. */
export async function runLogin(parts: LoginParts, req: Request, wanted: unknown): Promise<Outcome> {
  const authKey = readAuthKey(req);
  if (authKey.kind === 'none') return start(parts, req, wanted);
  if (isPrefetch(req)) {
    // An error and not a failure: a redirect would be kept and shown as the result of the login.
    throw new MarketgateError(
      'login_failed',
      'a prefetch of the callback was refused, so that it does not spend the auth_key; follow the link instead',
    );
  }
  if (authKey.kind === 'broken') {
    return failure('auth_key_rejected', `The login could not be completed: ${authKey.why}.`);
  }
  return finish(parts, req, authKey.value);
}

async function start(
  { attempts, clock, loginApi }: LoginParts,
  req: Request,
  wanted: unknown,
): Promise<Outcome> {
  const returnTo = safeReturnTo(wanted);
  await attempts.begin(req, {
    id: randomBytes(16).toString('base64url'),
    startedAt: clock(),
    ...(returnTo !== undefined && { returnTo }),
  });
  return { type: 'redirect', url: loginApi.loginUrl() };
}

async function finish(parts: LoginParts, req: Request, authKey: string): Promise<Outcome> {
  const attempt = await parts.attempts.take(req, parts.clock());
  if (attempt === undefined) {
    // A second tab, or a reload: this browser has what it came for. The key stays unspent.
    if (isLoggedIn(req)) return { type: 'pass' };
    return failure(
      'login_failed',
      'This login was not started in this browser, or too long ago. Please log in again.',
      403,
    );
  }
  if (!(await parts.usedKeys.claim(authKey))) {
    return failure('auth_key_rejected', 'This login link was already used. Please log in again.');
  }
  try {
    const outcome = await identify(parts, req, authKey);
    leaveReturnTo(req, attempt.returnTo);
    return outcome;
  } catch (error) {
    if (!isMarketgateError(error) || !FAILURES.has(error.code)) throw error;
    return failure(error.code, error.message, error.status);
  }
}

async function identify(
  { loginApi, tokenStore, verify }: LoginParts,
  req: Request,
  authKey: string,
): Promise<Outcome> {
  const token = await loginApi.exchange(authKey);
  const userInfo = await loginApi.getUser(token);
  const profile = profileOf(userInfo, siteOf(loginApi.loginUrl()));
  await tokenStore?.set(profile.id, token);
  const { user, info } = await verify({ profile, token, req });
  return user
    ? { type: 'success', user, info: info ?? {} }
    : { type: 'fail', challenge: info, status: 401 };
}

/** Browsers fetch pages ahead of a click; the callback spends something, so it must not be. */
function isPrefetch(req: Request): boolean {
  return ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /prefetch|prerender|preview/i.test(String(req.headers[name] ?? '')),
  );
}

function isLoggedIn(req: Request): boolean {
  return Boolean((req as { user?: unknown }).user);
}

/** The login service's own address, out of ".../api/oauth?app_id=…". */
const siteOf = (loginUrl: string): string => loginUrl.replace(/\/api\/oauth\?.*$/, '/');

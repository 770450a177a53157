import type { Request } from 'express';
import {
  type AccessToken,
  type AsyncVerify,
  isFreshLogin,
  type LoginApi,
  MarketgateError,
  type MarketgateErrorCode,
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  returnTo,
  type UserInfo,
} from 'marketgate';
import type { AuthenticateOptions } from 'passport';
import { scopeFor } from '../../src/passport/strategy-options.js';
import { parseSetCookie } from './set-cookie.js';
import { userInfo } from './wire.js';

const LOGIN_URL = 'https://market.example/api/oauth?app_id=app-7';

/** What a strategy with {@link fakeLoginApi} and the default name keeps its attempts under. */
export const SCOPE: string = scopeFor('marketplace', LOGIN_URL);
export const STATE_KEY = `marketgate:login:${SCOPE}`;
export const STATE_COOKIE = `marketgate.login.${SCOPE}`;

export const longSecret = (name = 'only'): string => `${name}-`.padEnd(40, '0123456789abcdef');

export type Recorded = [outcome: string, ...args: unknown[]];

const OUTCOMES = ['success', 'fail', 'redirect', 'pass', 'error'] as const;

/**
 * Runs a strategy as passport does: on an object derived from it, with the outcomes put on. Gives
 * everything that it called, and waits a little longer than for the first, to catch a second.
 */
async function drive(
  strategy: MarketplaceStrategy,
  req: object,
  options: AuthenticateOptions,
): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const derived = Object.create(strategy) as MarketplaceStrategy;
  const hasLogIn = 'logIn' in req;
  await new Promise<void>((resolve) => {
    const { res } = req as { res?: { end: (body: string) => void } };
    if (res !== undefined) {
      // The page of `confirm` is the one step that ends in none of the outcomes.
      const end = res.end;
      res.end = (body) => {
        end(body);
        recorded.push(['page', body]);
        setImmediate(() => setImmediate(resolve));
      };
    }
    for (const outcome of OUTCOMES) {
      derived[outcome] = (...args: unknown[]): void => {
        const isRedirect = outcome !== 'fail' || options.failureRedirect;
        // Passport reads it when all strategies have failed, and makes an error of its own.
        if (!isRedirect && options.failWithError) throw new Error('Unauthorized');
        recorded.push([outcome, ...args]);
        if (outcome === 'success' && hasLogIn) (req as Request).logIn(args[0] as object, () => {});
        setImmediate(() => setImmediate(resolve));
      };
    }
    derived.authenticate(req as Request, options);
  });
  return recorded;
}

/** A browser with cookies, for strategies that keep their attempts in one. */
export function cookieBrowser(secure = false) {
  /** By name; `undefined` where one was cleared. */
  const cookies: Record<string, string | undefined> = {};
  return {
    cookies,
    /** A request, and a response that keeps what was set on it. */
    request(query: object = {}, more: object = {}) {
      const res = {
        cookies,
        attributes: {} as Record<string, object>,
        /** Of Set-Cookie. */
        lines: [] as string[],
        headers: {} as Record<string, string>,
        body: undefined as string | undefined,
        statusCode: 0,
        getHeader: (name: string): string | undefined => res.headers[name.toLowerCase()],
        setHeader(name: string, value: string | string[]): void {
          if (name !== 'Set-Cookie') res.headers[name.toLowerCase()] = String(value);
          for (const line of name === 'Set-Cookie' ? [value].flat() : []) {
            const cookie = parseSetCookie(line);
            res.lines.push(line);
            cookies[cookie.name] = cookie.maxAge === 0 ? undefined : cookie.value;
            res.attributes[cookie.name] = cookie;
          }
        },
        end(body: string): void {
          res.body = body;
        },
      };
      const header = Object.entries(cookies)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => `${name}=${value}`)
        .join('; ');
      const req = {
        query,
        method: 'GET',
        secure,
        originalUrl: '/callback?auth_key=spent',
        res,
        ...more,
        headers: { cookie: header, ...(more as { headers?: object }).headers },
      };
      return { req, res };
    },
  };
}

/** A LoginApi that answers without a service. */
export function fakeLoginApi(overrides: Partial<Record<keyof LoginApi, unknown>> = {}) {
  const exchanged: string[] = [];
  const token: AccessToken = { value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 };
  const loginApi = {
    clock: () => 0,
    loginUrl: () => LOGIN_URL,
    getUser: async (): Promise<UserInfo> => userInfo,
    ...overrides,
    exchange: async (authKey: string): Promise<AccessToken> => {
      if (typeof overrides.exchange === 'function') return overrides.exchange(authKey);
      exchanged.push(authKey);
      return token;
    },
  };
  return { loginApi: loginApi as unknown as LoginApi, exchanged };
}

/** Options of the strategy, and what stands around it. */
export interface OpenLogin extends Partial<MarketplaceStrategyOptions> {
  /** Where the attempts are. Default: in the session. */
  where?: 'session' | 'cookie';
  /** In place of methods of the fake LoginApi. */
  api?: Parameters<typeof fakeLoginApi>[0];
  /** Any form of verify. Default: gives the user's id. */
  verify?: unknown;
  secure?: boolean;
  /** In place of a strategy made of these options. */
  strategy?: MarketplaceStrategy;
  /** The browser and its session, to have several strategies or processes in one. */
  browser?: ReturnType<typeof cookieBrowser>;
  session?: Record<string, unknown>;
}

/** A strategy with a fake LoginApi, and a browser that visits it. */
export function openLogin(given: OpenLogin = {}) {
  const { where = 'session', api, verify = giveId, secure, ...more } = given;
  const { browser = cookieBrowser(secure), session = {}, strategy: own, ...options } = more;
  const { loginApi, exchanged } = fakeLoginApi(api);
  const inCookie = where === 'cookie' && { loginAttempts: { cookieSecret: longSecret() } };
  const strategy =
    own ?? new MarketplaceStrategy({ loginApi, ...inCookie, ...options }, verify as AsyncVerify);
  /** What came of one request, and what `returnTo` and `isFreshLogin` say of it. */
  async function visit(query = {}, more: object = {}, authOptions = {}) {
    const { req, res } = browser.request(query, {
      ...(where === 'session' && { session }),
      ...more,
    });
    const recorded = await drive(strategy, req, authOptions);
    const [outcome] = recorded;
    const said = { to: returnTo(req), isFresh: isFreshLogin(req) };
    return { recorded, outcome, req, res, ...said };
  }
  return {
    strategy,
    loginApi,
    exchanged,
    browser,
    session,
    visit,
    start: (authOptions?: object, more?: object) => visit({}, more, authOptions),
    comeBack: (auth_key: unknown = 'k1', more?: object, authOptions?: object) =>
      visit({ auth_key }, more, authOptions),
    /** Starts a login and comes back; gives the id of the confirmation that is then asked for. */
    async upToThePage(authOptions?: object, auth_key = 'k1'): Promise<string> {
      await visit({}, {}, authOptions);
      return confirmationOf((await visit({ auth_key })).outcome);
    },
    /** Gives a function that puts the session and the cookies back, as a browser that kept a copy does. */
    keepCopy() {
      const copies = [{ ...session }, { ...browser.cookies }];
      return () => {
        Object.assign(session, copies[0]);
        Object.assign(browser.cookies, copies[1]);
      };
    },
  };
}

/** A LoginApi whose exchange fails like this, because of what is given. */
export const failing = (code: MarketgateErrorCode): OpenLogin => ({
  api: { exchange: () => Promise.reject(new MarketgateError(code, 'because')) },
});

export const giveId: AsyncVerify = async ({ profile }) => ({ id: profile.id });

export async function logIn(
  options?: OpenLogin,
  auth_key?: string,
  more?: object,
  authOptions?: object,
) {
  const { start, comeBack } = openLogin(options);
  await start();
  return comeBack(auth_key, more, authOptions);
}

/** The user of {@link fakeLoginApi}, and the outcome of a login. */
export const user = { id: '77' };
export const success = ['success', user, {}];

/** The id of the confirmation that an outcome asks the visitor for; empty if it does not. */
export const confirmationOf = (outcome: Recorded | undefined): string =>
  (outcome?.[0] === 'redirect' && /^\?marketgate=([\w-]+)$/.exec(String(outcome[1]))?.[1]) || '';

export const isAsked = (outcome: Recorded | undefined): boolean => confirmationOf(outcome) !== '';

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
} from 'marketgate';
import { type AuthenticateOptions, Passport, type Strategy } from 'passport';
import { userInfo } from './wire.js';

export const longSecret = (name = 'only'): string => `${name}-`.padEnd(40, '0123456789abcdef');

/** Passport with a strategy. The session keeps whole users. */
export function passportWith(strategy: Strategy) {
  const passport = new Passport();
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: Express.User, done) => done(null, user));
  passport.use(strategy);
  return passport;
}

type Recorded = [outcome: string, ...args: unknown[]];

/** A browser with cookies, for strategies that keep their attempts in one. */
export function cookieBrowser(secure = false) {
  const cookies: Record<string, string> = {};
  /** A request, and a response that keeps what was set on it. */
  function request(query: object = {}, more: { headers?: object; session?: object } = {}) {
    const headers: Record<string, string> = {};
    const setCookies: string[] = [];
    const res = {
      ...{ headers, setCookies, body: '', statusCode: 0 },
      getHeader: (name: string): string | undefined => headers[name.toLowerCase()],
      setHeader(name: string, value: string | string[]): void {
        if (name !== 'Set-Cookie') headers[name.toLowerCase()] = String(value);
        else for (const line of [value].flat()) keep(line);
      },
      end: (body: string): void => void Object.assign(res, { body }),
    };
    function keep(line: string): void {
      setCookies.push(line);
      const [, name = '', value = ''] = /^(.+?)=(.*?);/.exec(line) ?? [];
      if (line.includes('Max-Age=0')) delete cookies[name];
      else cookies[name] = value;
    }
    const pairs = Object.entries(cookies).map(([name, value]) => `${name}=${value}`);
    const req = {
      ...{ query, method: 'GET', secure, originalUrl: '/callback?auth_key=spent', res, ...more },
      headers: { cookie: pairs.join('; '), ...more.headers },
    };
    return { req, res };
  }
  return { cookies, request };
}

/**
 * Runs a strategy as passport does: on an object derived from it, with the outcomes put on. Gives
 * everything that it called, and waits a little longer than for the first, to catch a second.
 */
async function drive(
  strategy: MarketplaceStrategy,
  req: { res: { end: (body: string) => void } },
  options: AuthenticateOptions,
): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const { logIn } = req as Partial<Request>;
  await new Promise<void>((resolve) => {
    const record = (...outcome: Recorded): void => {
      recorded.push(outcome);
      // As the strategy has wrapped it.
      if (logIn && outcome[0] === 'success') (req as Request).logIn(outcome[1] as object, () => {});
      setImmediate(() => setImmediate(resolve));
    };
    const derived = Object.create(strategy);
    for (const name of ['success', 'fail', 'redirect', 'pass', 'error']) {
      derived[name] = (...args: unknown[]) => record(name, ...args);
    }
    // The page that asks is the one step that ends in none of these.
    const { end } = req.res;
    req.res.end = (body) => {
      end(body);
      record('page', body);
    };
    derived.authenticate(req, options);
  });
  return recorded;
}

/** A LoginApi that answers without a service. */
export function fakeLoginApi(overrides: Partial<Record<keyof LoginApi, unknown>> = {}) {
  const exchanged: string[] = [];
  const token: AccessToken = { value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 };
  const loginApi = {
    clock: () => 0,
    loginUrl: () => 'https://market.example/api/oauth?app_id=app-7',
    getUser: async () => userInfo,
    exchange: async (authKey: string) => {
      exchanged.push(authKey);
      return token;
    },
    ...overrides,
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
    const made = browser.request(query, { ...(where === 'session' && { session }), ...more });
    const recorded = await drive(strategy, made.req, authOptions);
    const said = { to: returnTo(made.req), isFresh: isFreshLogin(made.req) };
    return { ...made, ...said, recorded, outcome: recorded[0] };
  }
  return {
    ...{ strategy, loginApi, exchanged, browser, session, visit },
    start: (authOptions?: object, more?: object) => visit({}, more, authOptions),
    comeBack: (auth_key: unknown = 'k1', more?: object, authOptions?: object) =>
      visit({ auth_key }, more, authOptions),
    /** Starts a login and comes back; gives the id of the confirmation that is then asked for. */
    async upToThePage(authOptions?: object, auth_key = 'k1'): Promise<string> {
      await visit({}, {}, authOptions);
      return confirmationOf((await visit({ auth_key })).outcome);
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

import type { Request } from 'express';
import type { AccessToken, LoginApi, MarketplaceStrategy, UserInfo } from 'marketgate';
import { userInfo } from './wire.js';

/** What a strategy called, with its arguments. */
export type Recorded = [outcome: string, ...args: unknown[]];

const OUTCOMES = ['success', 'fail', 'redirect', 'pass', 'error'] as const;

/**
 * Runs a strategy as passport does: on an object derived from it, with the outcomes put on. Gives
 * everything that it called, and waits a little longer than for the first, to catch a second.
 */
export async function drive(
  strategy: MarketplaceStrategy,
  req: object,
  options: object = {},
): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const derived = Object.create(strategy) as MarketplaceStrategy;
  await new Promise<void>((resolve) => {
    for (const outcome of OUTCOMES) {
      derived[outcome] = (...args: unknown[]): void => {
        recorded.push([outcome, ...args]);
        setImmediate(() => setImmediate(resolve));
      };
    }
    derived.authenticate(req as Request, options);
  });
  return recorded;
}

/** A request with an empty session, or with more. */
export function requestOf(query: object = {}, more: object = {}): object {
  return { query, headers: {}, session: {}, ...more };
}

/** A LoginApi that answers without a service. */
export function fakeLoginApi(overrides: Partial<Record<keyof LoginApi, unknown>> = {}): {
  loginApi: LoginApi;
  exchanged: string[];
} {
  const exchanged: string[] = [];
  const token: AccessToken = { value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 };
  const loginApi = {
    clock: () => 0,
    loginUrl: () => 'https://market.example/api/oauth?app_id=app-7',
    exchange: async (authKey: string): Promise<AccessToken> => {
      exchanged.push(authKey);
      return token;
    },
    getUser: async (): Promise<UserInfo> => userInfo,
    ...overrides,
  };
  return { loginApi: loginApi as unknown as LoginApi, exchanged };
}

import { LoginApi, type LoginApiOptions, type MarketgateErrorCode } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { Agent } from 'undici';
import { authKeyOf, Browser } from '../../sandbox/support.js';
import type { Documented } from './key-api-cases.js';

const HOUR = 3_600_000;
const GONE = 100;

const spare = (n: number): string => `gone-${n}`;

/** The service, its users' browsers, and what it says of the users by the specification's word. */
export type LoginApiWorld = Awaited<ReturnType<typeof openLoginApiWorld>>;

export async function openLoginApiWorld() {
  const { users } = createSandbox().data;
  const going = Array.from({ length: GONE }, (_, n) => ({
    user_id: spare(n),
    user_name: spare(n),
    user_email: `${spare(n)}@mail.example`,
    user_registered: '2025-01-01',
    user_verified: '0',
  }));
  const sandbox = createSandbox({
    redirectUrl: 'http://localhost:3999/callback',
    clock: () => Date.UTC(2026, 10, 21, 10),
    seed: { users: [...users, ...going] },
  });
  const { authUrl, appId, appSecret } = await sandbox.listen();
  const agent = new Agent();
  const browsers = new Map<string, Browser>();
  let gone = 0;

  const world = {
    sandbox,
    agent,
    url: `${authUrl}/api/oauth?app_id=${appId}`,
    client: (options: Partial<LoginApiOptions> = {}) =>
      new LoginApi({
        authUrl,
        appId,
        appSecret,
        retries: 0,
        clock: sandbox.clock,
        dispatcher: agent,
        authorizeMethod: sandbox.dialect.authorizeMethod,
        ...options,
      }),
    /** Logs a user in once more: a new auth_key, which ends the one before it. */
    async authKey(userId: string): Promise<string> {
      const browser = browsers.get(userId) ?? new Browser(authUrl);
      browsers.set(userId, browser);
      return authKeyOf(await browser.logIn(appId, userId));
    },
    /** Spends an auth_key without the client. */
    async token(authKey: string): Promise<string> {
      const app = { app_id: appId, app_secret: appSecret };
      const fields = new URLSearchParams({ ...app, auth_key: authKey });
      const response = await (sandbox.dialect.authorizeMethod === 'get'
        ? fetch(`${authUrl}/api/authorize?${fields}`)
        : fetch(`${authUrl}/api/authorize`, { method: 'POST', body: fields }));
      const { access_token } = (await response.json()) as { access_token: string };
      return access_token;
    },
    /** A user who can be removed: another one each time. */
    nextToGo: () => spare(gone++),
    async close() {
      await agent.close();
      await sandbox.close();
    },
  };
  const infoOf = async (userId: string): Promise<Documented> => {
    const token = await world.token(await world.authKey(userId));
    const response = await fetch(`${authUrl}/api/get_user_info?access_token=${token}`);
    return ((await response.json()) as { user_info: Documented }).user_info;
  };
  return { ...world, documented: { 3001: await infoOf('3001'), 3005: await infoOf('3005') } };
}

/** What was there before the service became as it is: keys and tokens in every state. */
export type Belongings = Awaited<ReturnType<typeof makeBelongings>>;

/** Makes them, with the hours that it takes. */
export async function makeBelongings(world: LoginApiWorld) {
  const { sandbox, authKey } = world;
  const tokenOf = async (userId: string) => world.token(await authKey(userId));
  // A token that somebody held at the end of the setting before would be given out again.
  sandbox.clock.advance(2 * HOUR);
  const expired = await tokenOf('3004');
  sandbox.clock.advance(HOUR);
  // Lapsed and replaced: where tokens are reused, the old one now reads "invalid".
  await tokenOf('3004');
  const halfAnHourOld = await tokenOf('3002');
  sandbox.clock.advance(HOUR / 2);
  const toGo = world.nextToGo();
  const gone = await tokenOf(toGo);
  sandbox.data.removeUser(toGo);
  const revoked = await tokenOf('3003');
  sandbox.data.revokeToken(revoked);
  const usedKey = await authKey('3003');
  await world.token(usedKey);
  const olderKey = await authKey('3004');
  return {
    expired,
    halfAnHourOld,
    living: await tokenOf('3001'),
    blank: await tokenOf('3005'),
    revoked,
    gone,
    key: await authKey('3002'),
    // Of a user who holds a living token.
    keyAgain: await authKey('3001'),
    usedKey,
    olderKey,
    keyForWrongApp: await authKey('3004'),
  };
}

/** One question to the client, and what the specification and the contract say that it ends in. */
export interface LoginApiCase {
  readonly name: string;
  readonly ask: (
    client: (options?: Partial<LoginApiOptions>) => LoginApi,
    mine: Belongings,
  ) => Promise<unknown>;
  readonly ends: { readonly user: '3001' | '3005' } | 'token' | MarketgateErrorCode;
  /** Whether the service is not asked at all, whatever state it is in. */
  readonly asksNobody?: boolean;
}

const of = (name: string, ask: LoginApiCase['ask'], ends: LoginApiCase['ends']): LoginApiCase => ({
  name,
  ask,
  ends,
});

const exchanging =
  (key: keyof Belongings, options?: Partial<LoginApiOptions>): LoginApiCase['ask'] =>
  (client, mine) =>
    client(options).exchange(mine[key]);

const withToken =
  (token: keyof Belongings): LoginApiCase['ask'] =>
  (client, mine) =>
    client().getUser(mine[token]);

const BAD_APP = 'app_credentials_rejected';
const EXPIRED = 'access_token_expired';

/** Every method of the client, with every answer that the specification and the notes know. */
export const LOGIN_API_CASES: readonly LoginApiCase[] = [
  of('exchange, good', exchanging('key'), 'token'),
  of('exchange, while a token lives', exchanging('keyAgain'), 'token'),
  of('exchange, used auth_key', exchanging('usedKey'), 'auth_key_rejected'),
  of('exchange, auth_key of an older tab', exchanging('olderKey'), 'token'),
  of('exchange, unknown auth_key', (c) => c().exchange('c0ffee00c0ffee00'), 'auth_key_rejected'),
  of('exchange, wrong app_id', exchanging('keyForWrongApp', { appId: '1' }), BAD_APP),
  of('exchange, wrong app_secret', exchanging('keyForWrongApp', { appSecret: 'wrong' }), BAD_APP),
  of('getUser, good', withToken('living'), { user: '3001' }),
  of('getUser, blank profile', withToken('blank'), { user: '3005' }),
  of('getUser, token half an hour old', withToken('halfAnHourOld'), 'token'),
  of('getUser, expired token', withToken('expired'), EXPIRED),
  of('getUser, invalid token', (c) => c().getUser('no-token-at-all'), EXPIRED),
  of('getUser, revoked token', withToken('revoked'), EXPIRED),
  of('getUser, user who is gone', withToken('gone'), 'login_failed'),
  {
    name: 'getUser, token expired by its own clock',
    ask: (c, { living: value }) => {
      const loginApi = c();
      const expiresAt = loginApi.clock();
      return loginApi.getUser({ value, issuedAt: expiresAt - HOUR, expiresAt });
    },
    ends: EXPIRED,
    asksNobody: true,
  },
];

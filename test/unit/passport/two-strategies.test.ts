import {
  loadUser,
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  MemoryTokenStore,
  requireAccessToken,
} from 'marketgate';
import { describe, expect, it } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { cookieBrowser, drive, fakeLoginApi, longSecret } from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

// One app with the logins of two marketplaces: the same user_id is another person in each.

describe.each(['session', 'cookie'] as const)('two strategies, with attempts in a %s', (where) => {
  function open(names: [string | undefined, string | undefined], loginUrls: string[] = []) {
    const clock = () => 0;
    const claimed = new Set<string>();
    const tokenStore = Object.assign(new MemoryTokenStore({ clock }), {
      claim: async (name: string) => !claimed.has(name) && Boolean(claimed.add(name)),
    });
    const browser = cookieBrowser();
    const session = {};
    const strategies = names.map((name, i) => {
      const token = { value: `token of ${i}`, issuedAt: 0, expiresAt: 3_600_000 };
      const loginUrl = loginUrls[i];
      const { loginApi, exchanged } = fakeLoginApi({
        ...(loginUrl && { loginUrl: () => loginUrl }),
        exchange: async (key: string) => {
          exchanged.push(key);
          return token;
        },
      });
      const options: MarketplaceStrategyOptions = {
        ...{ loginApi, tokenStore, name, confirm: false },
        loginAttempts: where === 'cookie' ? { cookieSecret: longSecret() } : 'session',
      };
      const strategy = new MarketplaceStrategy(options, ({ profile }) => ({ id: profile.id }));
      const visit = async (query: object = {}) =>
        (
          await drive(strategy, browser.request(query, where === 'session' ? { session } : {}).req)
        )[0];
      return { strategy, exchanged, visit };
    });
    const [first, second] = strategies;
    if (first === undefined || second === undefined) throw new Error('two');
    return { first, second, tokenStore, browser };
  }

  const LOGIN_URLS = ['a', 'b'].map((app) => `https://market.example/api/oauth?app_id=${app}`);

  it.each<[string, [string | undefined, string | undefined], string[]]>([
    ['names', [undefined, 'images'], []],
    ['names that a cookie cannot have', ['a b', 'a_b'], []],
    ['names of other letters', ['füße', 'f__e'], []],
    ['services, registered under names of passport’s', [undefined, undefined], LOGIN_URLS],
  ])('of two %s: the attempt of one is none of the other’s', async (_name, names, urls) => {
    const { first, second } = open(names, urls);
    await first.visit();
    expect((await second.visit({ auth_key: 'k1' }))?.[2]).toBe(403);
    expect(second.exchanged).toEqual([]);
    expect((await first.visit({ auth_key: 'k1' }))?.[0]).toBe('success');
  });

  it('a login with one ends no attempt of the other’s', async () => {
    const { first, second } = open([undefined, 'images']);
    await first.visit();
    await second.visit();
    expect((await first.visit({ auth_key: 'k1' }))?.[0]).toBe('success');
    expect((await second.visit({ auth_key: 'k2' }))?.[0]).toBe('success');
  });

  it('the same auth_key of both is spent at each', async () => {
    const { first, second } = open([undefined, 'images']);
    for (const { visit } of [first, second]) {
      await visit();
      expect((await visit({ auth_key: 'k1' }))?.[0]).toBe('success');
    }
  });

  it('tokens of the same user_id are two, and the middleware finds each', async () => {
    const { first, second, tokenStore } = open([undefined, 'images']);
    for (const { visit } of [first, second]) {
      await visit();
      await visit({ auth_key: 'k1' });
    }
    expect((await tokenStore.get('77'))?.value).toBe('token of 0');
    expect((await tokenStore.get('images:77'))?.value).toBe('token of 1');
    const used: string[] = [];
    const loginApi = {
      getUser: async (token: unknown) => {
        used.push((token as { value: string }).value);
        return userInfo;
      },
    };
    for (const strategy of [undefined, 'images', 'videos']) {
      const guards = [
        loadUser(loginApi, { tokenStore, strategy }),
        requireAccessToken({ tokenStore, strategy, clock: () => 0 }),
      ];
      for (const guard of guards) {
        const req = { user: { id: '77' }, method: 'POST', originalUrl: '/', headers: {} };
        const error = await new Promise((resolve) =>
          guard(req as never, fakeResponse() as never, resolve),
        );
        const expected = { code: 'access_token_expired' };
        if (strategy === 'videos') expect(error).toMatchObject(expected);
        else expect(error).toBeUndefined();
      }
    }
    expect(used).toEqual(['token of 0', 'token of 1']);
  });
});

it('a cookie of one strategy under the name of the other’s does not count', async () => {
  const cookieSecret = longSecret();
  const strategies = ['one', 'two'].map((name) => {
    const { loginApi, exchanged } = fakeLoginApi();
    const options = { loginApi, name, loginAttempts: { cookieSecret } };
    return { exchanged, strategy: new MarketplaceStrategy(options, () => ({ id: '77' })) };
  });
  const [one, two] = strategies.map(({ strategy }) => strategy);
  const browser = cookieBrowser();
  if (one === undefined || two === undefined) throw new Error('two');
  await drive(one, browser.request().req);
  const [signed] = Object.values(browser.cookies);
  await drive(two, browser.request().req);
  for (const name of Object.keys(browser.cookies)) browser.cookies[name] = signed;
  const [outcome] = await drive(two, browser.request({ auth_key: 'k1' }).req);
  expect(outcome?.[2]).toBe(403);
});

it.each(['', 7])('the middleware refuse %j for a strategy', (strategy) => {
  const options = { tokenStore: new MemoryTokenStore(), strategy } as never;
  expect(() => requireAccessToken(options)).toThrow(/"strategy"/);
  expect(() => loadUser({ getUser: async () => userInfo }, options)).toThrow(/"strategy"/);
});

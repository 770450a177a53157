import {
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  MemoryTokenStore,
  returnTo,
} from 'marketgate';
import { describe, expect, it } from 'vitest';
import { cookieBrowser, drive, fakeLoginApi, longSecret } from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

const verify = async ({ profile }: { profile: { id: string } }) => ({ id: profile.id });

describe.each([
  ['in the session', (session: object) => ({ session })],
  ['in a cookie', () => ({})],
])('confirm: true, with attempts %s', (where, sessionOf) => {
  function open(options: Partial<MarketplaceStrategyOptions> = {}, overrides = {}) {
    const { loginApi, exchanged } = fakeLoginApi(overrides);
    const tokenStore = new MemoryTokenStore({ clock: () => 0 });
    const strategy = new MarketplaceStrategy(
      {
        loginApi,
        tokenStore,
        confirm: true,
        loginAttempts: where === 'in a cookie' ? { cookieSecret: longSecret() } : 'session',
        ...options,
      },
      verify,
    );
    const browser = cookieBrowser();
    const session = {};
    const ask = (query = {}, more = {}) =>
      browser.request(query, { ...sessionOf(session), ...more });
    /** Starts a login and comes back with an auth_key; gives the id of the confirmation. */
    async function upToThePage(authOptions: object = {}): Promise<string> {
      await drive(strategy, ask().req, authOptions);
      const [outcome] = await drive(strategy, ask({ auth_key: 'k1' }).req);
      expect(outcome?.[0]).toBe('redirect');
      const url = new URL(String(outcome?.[1]), 'http://app.test');
      expect(url.pathname).toBe('/callback');
      expect([...url.searchParams.keys()]).toEqual(['confirm']);
      return url.searchParams.get('confirm') ?? '';
    }
    return { strategy, exchanged, tokenStore, ask, upToThePage };
  }

  it('shows whose account it is, before anybody is logged in', async () => {
    const { strategy, ask, upToThePage, tokenStore } = open();
    const confirm = await upToThePage();
    const { req, res } = ask({ confirm });
    const recorded = await drive(strategy, req);
    expect(recorded.map(([name]) => name)).toEqual(['page']);
    expect(res.body).toContain('Continue as Mira Okafor?');
    expect(res.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
    });
    expect(res.body).not.toContain('token-1');
    expect(await tokenStore.get('77')).toBeUndefined();
  });

  it('the page can be reloaded, and "Continue" logs in and goes on', async () => {
    const { strategy, ask, upToThePage, tokenStore, exchanged } = open();
    const confirm = await upToThePage({ returnTo: '/account' });
    await drive(strategy, ask({ confirm }).req);
    await drive(strategy, ask({ confirm }).req);
    const { req } = ask({ confirm, answer: 'continue' });
    expect(await drive(strategy, req)).toEqual([['success', { id: '77' }, {}]]);
    expect(returnTo(req)).toBe('/account');
    expect((await tokenStore.get('77'))?.value).toBe('token-1');
    expect(exchanged).toEqual(['k1']);
  });

  it('"Not me" signs nobody in, and ends the attempt', async () => {
    const { strategy, ask, upToThePage, tokenStore } = open();
    const confirm = await upToThePage();
    const [outcome] = await drive(strategy, ask({ confirm, answer: 'cancel' }).req);
    expect(outcome).toEqual(['fail', expect.objectContaining({ code: 'login_failed' }), 401]);
    const [after] = await drive(strategy, ask({ confirm, answer: 'continue' }).req);
    expect(after).toEqual(['fail', expect.objectContaining({ code: 'login_failed' }), 403]);
    expect(await tokenStore.get('77')).toBeUndefined();
  });

  it('“Continue” after "Not me" logs nobody in', async () => {
    const { strategy, ask, upToThePage } = open();
    const confirm = await upToThePage();
    const [no, yes] = ['cancel', 'continue'].map((answer) => ask({ confirm, answer }).req);
    const cancelled = drive(strategy, no ?? {});
    const [after] = await drive(strategy, yes ?? {});
    expect((await cancelled)[0]?.[0]).toBe('fail');
    expect(after?.[0]).toBe('fail');
  });

  it('an answer from another browser, or to a made-up attempt, is refused', async () => {
    const mine = open();
    const confirm = await mine.upToThePage();
    const stranger = open();
    for (const query of [{ confirm, answer: 'continue' }, { confirm }, { confirm: 'made-up' }]) {
      const [outcome] = await drive(stranger.strategy, stranger.ask(query).req);
      expect(outcome?.slice(0, 1)).toEqual(['fail']);
      expect(outcome?.[2]).toBe(403);
    }
  });

  it('an attempt that waits for a yes is not one that a callback can use', async () => {
    const { strategy, ask, upToThePage, exchanged } = open();
    await upToThePage();
    const [outcome] = await drive(strategy, ask({ auth_key: 'k2' }).req);
    expect(outcome?.[2]).toBe(403);
    expect(exchanged).toEqual(['k1']);
  });

  it('is over after ten minutes', async () => {
    let now = 0;
    const { strategy, ask, upToThePage } = open({}, { clock: () => now });
    const confirm = await upToThePage();
    now = 600_000;
    const [outcome] = await drive(strategy, ask({ confirm, answer: 'continue' }).req);
    expect(outcome?.[2]).toBe(403);
  });

  it('a prefetch answers nothing', async () => {
    const { strategy, ask, upToThePage } = open();
    const confirm = await upToThePage();
    const query = { confirm, answer: 'continue' };
    const [early] = await drive(strategy, ask(query, { headers: { purpose: 'prefetch' } }).req);
    expect(early?.[0]).toBe('error');
    const [real] = await drive(strategy, ask(query).req);
    expect(real?.[0]).toBe('success');
  });

  it('a name is text and not markup', async () => {
    const { strategy, ask, upToThePage } = open(
      {},
      { getUser: async () => ({ ...userInfo, user_firstname: '<script>alert(1)</script>' }) },
    );
    const { req, res } = ask({ confirm: await upToThePage() });
    await drive(strategy, req);
    expect(res.body).not.toContain('<script>');
    expect(res.body).toContain('&lt;script&gt;');
  });

  it('is not asked for where it is off: "confirm" in the query starts a login', async () => {
    const { strategy, ask } = open({ confirm: false });
    const [outcome] = await drive(strategy, ask({ confirm: 'x', answer: 'continue' }).req);
    expect(outcome?.[0]).toBe('redirect');
  });
});

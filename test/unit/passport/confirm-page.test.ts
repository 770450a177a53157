import {
  MarketgateError,
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  MemoryTokenStore,
} from 'marketgate';
import { describe, expect, it } from 'vitest';
import {
  ATTEMPTS_KEY,
  cookieBrowser,
  drive,
  fakeLoginApi,
  requestOf,
} from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

function open(
  overrides: Parameters<typeof fakeLoginApi>[0] = {},
  options: Partial<MarketplaceStrategyOptions> = {},
) {
  const { loginApi, exchanged } = fakeLoginApi(overrides);
  const strategy = new MarketplaceStrategy(
    { loginApi, confirm: true, ...options },
    async ({ profile }) => ({ id: profile.id }),
  );
  const session: Record<string, unknown> = {};
  const browser = cookieBrowser();
  const ask = (query = {}, more = {}) => browser.request(query, { session, ...more });
  /** Starts a login and comes back with an auth_key; gives the path of the page. */
  async function upToThePage(auth_key = 'k1', more = {}): Promise<URL> {
    await drive(strategy, ask().req);
    const [outcome] = await drive(strategy, ask({ auth_key }, more).req);
    return new URL(String(outcome?.[1]), 'http://app.test');
  }
  /** The page, as it is sent. */
  async function pageOf(confirm: string | null) {
    const { req, res } = ask({ confirm });
    const [outcome] = await drive(strategy, req);
    return { outcome, ...res, body: res.body ?? '' };
  }
  return { strategy, exchanged, session, ask, upToThePage, pageOf };
}

describe('the page that asks', () => {
  it('is HTML, has its style in it, and tells no other site where it was', async () => {
    const { upToThePage, pageOf } = open();
    const { body, headers, statusCode } = (await pageOf(
      (await upToThePage()).searchParams.get('confirm'),
    )) as Awaited<ReturnType<typeof pageOf>> & { statusCode: number };
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
    });
    expect(body).toMatch(/<style>[^<]*color-scheme[^<]*<\/style>/);
    expect(body).toContain('<bdi>Mira Okafor</bdi>');
    expect(body).toContain('<bdi>mira</bdi>');
  });

  it.each([
    ['without a name', { user_firstname: undefined, user_lastname: undefined }, 'mira', 'mira'],
    [
      'with nothing but an id',
      { user_firstname: undefined, user_lastname: undefined, user_name: undefined },
      '77',
      '77',
    ],
  ])('of a user %s shows what there is', async (_name, missing, name, username) => {
    const { upToThePage, pageOf } = open({ getUser: async () => ({ ...userInfo, ...missing }) });
    const { body } = await pageOf((await upToThePage()).searchParams.get('confirm'));
    expect(body).toContain(`Continue as <bdi>${name}</bdi>`);
    expect(body).toContain(`User name <strong><bdi>${username}</bdi>`);
  });

  it('shows the first hundred letters of a name, and cuts none in two', async () => {
    const { upToThePage, pageOf } = open({
      getUser: async () => ({ ...userInfo, user_name: '\u{1f980}'.repeat(120) }),
    });
    const { body } = await pageOf((await upToThePage()).searchParams.get('confirm'));
    expect(body).toContain(`<bdi>${'\u{1f980}'.repeat(100)}</bdi>`);
  });

  it('is where the callback is, also in an app that is mounted somewhere', async () => {
    const { upToThePage } = open();
    expect((await upToThePage('k1', { originalUrl: '/shop/callback?x' })).pathname).toBe(
      '/shop/callback',
    );
    expect((await upToThePage('k2', { originalUrl: undefined, url: '/callback?x' })).pathname).toBe(
      '/callback',
    );
  });

  it('cannot be sent without a response, and the error says so', async () => {
    const { upToThePage, strategy, session } = open();
    const confirm = (await upToThePage()).searchParams.get('confirm');
    const [outcome] = await drive(strategy, requestOf({ confirm }, { session }));
    expect(outcome?.[0]).toBe('error');
    expect(String(outcome?.[1])).toContain('no response');
  });
});

describe('an answer', () => {
  it('logged nobody in under a clock of the app’s own, where no token store was given', async () => {
    const { upToThePage, ask, strategy } = open({ clock: () => 0 });
    const confirm = (await upToThePage()).searchParams.get('confirm');
    const [outcome] = await drive(strategy, ask({ confirm, answer: 'continue' }).req);
    expect(outcome?.[0]).toBe('success');
  });

  it('that is neither yes nor no shows the page again', async () => {
    const { upToThePage, ask, strategy } = open();
    const confirm = (await upToThePage()).searchParams.get('confirm');
    const [outcome] = await drive(strategy, ask({ confirm, answer: 'perhaps' }).req);
    expect(outcome?.[0]).toBe('page');
    const [after] = await drive(strategy, ask({ confirm, answer: 'continue' }).req);
    expect(after?.[0]).toBe('success');
  });

  it('with an empty id is none: the login starts', async () => {
    const { ask, strategy } = open();
    const [outcome] = await drive(strategy, ask({ confirm: '', answer: 'continue' }).req);
    expect(outcome?.[0]).toBe('redirect');
  });

  it('with an id that is not the one leaves the one that waits', async () => {
    const { upToThePage, ask, strategy } = open();
    const confirm = (await upToThePage()).searchParams.get('confirm');
    for (const query of [{ confirm: 'made-up' }, { confirm: 'made-up', answer: 'continue' }]) {
      const [refused] = await drive(strategy, ask(query).req);
      expect(refused?.[2]).toBe(403);
    }
    const [outcome] = await drive(strategy, ask({ confirm, answer: 'continue' }).req);
    expect(outcome?.[0]).toBe('success');
  });

  it('with the id of a login that is not that far leaves that login alone', async () => {
    const { ask, strategy, session, exchanged } = open();
    await drive(strategy, ask().req);
    const [{ id } = { id: '' }] = session[ATTEMPTS_KEY] as { id: string }[];
    for (const query of [{ confirm: id }, { confirm: id, answer: 'continue' }]) {
      const [refused] = await drive(strategy, ask(query).req);
      expect(refused?.[2]).toBe(403);
    }
    await drive(strategy, ask({ auth_key: 'k1' }).req);
    expect(exchanged).toEqual(['k1']);
  });

  it('of who is logged in, to nothing that waits, goes on', async () => {
    const { ask, strategy } = open();
    for (const query of [{ confirm: 'old' }, { confirm: 'old', answer: 'continue' }]) {
      expect(await drive(strategy, ask(query, { user: { id: '77' } }).req)).toEqual([['pass']]);
    }
  });

  it('logs in the account that was shown, whoever else is being asked', async () => {
    const overrides = {
      exchange: async (key: string) => ({ value: `of ${key}`, issuedAt: 0, expiresAt: 3_600_000 }),
      getUser: async (value: string) => ({ ...userInfo, user_id: value }),
    };
    const tokenStore = new MemoryTokenStore({ clock: () => 0 });
    const mira = open(overrides, { tokenStore });
    const tomas = open(overrides, { tokenStore });
    const asked = [await mira.upToThePage('mira'), await tomas.upToThePage('tomas')] as const;
    for (const [i, { strategy, ask }] of [mira, tomas].entries()) {
      const confirm = asked[i]?.searchParams.get('confirm');
      const [outcome] = await drive(strategy, ask({ confirm, answer: 'continue' }).req);
      expect(outcome?.[1]).toEqual({ id: i === 0 ? 'of mira' : 'of tomas' });
    }
  });

  it('that comes when the token has ended logs nobody in', async () => {
    let now = 0;
    const tokenStore = new MemoryTokenStore({ clock: () => now });
    const { upToThePage, ask, strategy } = open({}, { tokenStore });
    const confirm = (await upToThePage()).searchParams.get('confirm');
    now = 3_600_000;
    const [outcome] = await drive(strategy, ask({ confirm, answer: 'continue' }).req);
    expect(outcome?.slice(0, 1)).toEqual(['fail']);
    expect(outcome?.[2]).toBe(403);
  });

  it('that comes when the account is gone fails with what the service says', async () => {
    let isGone = false;
    const { upToThePage, ask, strategy } = open({
      getUser: async () => {
        if (isGone) throw new MarketgateError('login_failed', 'the account was deleted');
        return userInfo;
      },
    });
    const confirm = (await upToThePage()).searchParams.get('confirm');
    isGone = true;
    expect(await drive(strategy, ask({ confirm, answer: 'continue' }).req)).toEqual([
      ['fail', { code: 'login_failed', message: 'the account was deleted' }, 401],
    ]);
  });

  it('of no says that nobody was logged in', async () => {
    const { upToThePage, ask, strategy } = open();
    const confirm = (await upToThePage()).searchParams.get('confirm');
    const [outcome] = await drive(strategy, ask({ confirm, answer: 'cancel' }).req);
    expect(outcome?.[1]).toMatchObject({ message: expect.stringContaining('nobody') });
  });
});

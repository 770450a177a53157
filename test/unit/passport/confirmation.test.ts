import { MarketgateError, MemoryTokenStore, type Site } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  confirmationOf,
  fakeLoginApi,
  isAsked,
  type OpenLogin,
  openLogin,
  success,
  user,
} from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

const refused = ['fail', expect.objectContaining({ code: 'login_failed' }), 403];

/** The id of a login that no browser holds. */
const MADE_UP = 'a'.repeat(22);

type Headers = Record<string, string>;
const from = (site: string): Headers => ({ 'sec-fetch-site': site });
const throughWorker: Headers = { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'navigate' };

it.each<[string, OpenLogin['confirm'], asks: boolean, ...starts: Headers[]]>([
  ['by a link on a page of this site', 'auto', false, from('same-origin')],
  ['by the address bar or a bookmark', 'auto', false, from('none')],
  ['by a browser that does not say', 'auto', false, {}],
  ['by a page of another site', 'auto', true, from('cross-site')],
  ['by another origin on the same site', 'auto', true, from('same-site')],
  ['through a service worker', 'auto', true, { ...from('cross-site'), ...throughWorker }],
  ['by another site and then here', 'auto', true, from('cross-site'), from('none')],
  ['by another site', false, false, from('cross-site')],
  ['here', true, true, from('same-origin')],
  ['by another site', { render: () => {} }, true, from('cross-site')],
])(
  'a login begun %s, with confirm %j, is asked about: %s',
  async (_by, confirm, asks, ...starts) => {
    const { start, comeBack } = openLogin({ confirm });
    for (const headers of starts) await start({}, { headers });
    const headers = { ...from('cross-site'), ...throughWorker };
    const { outcome } = await comeBack('k1', { headers });
    if (asks) expect(outcome).toSatisfy(isAsked);
    else expect(outcome).toEqual(success);
  },
);

it('a frame, as everything that is no page of the window, begins no login and spends nothing, also for a user', async () => {
  const { start, comeBack, session, exchanged } = openLogin();
  const frame = { headers: { ...from('same-origin'), 'sec-fetch-dest': 'iframe' } };
  const refusal = ['error', { code: 'login_failed', status: 401 }];
  const { outcome } = await start({}, frame);
  expect(outcome).toMatchObject(refusal);
  expect(String(outcome?.[1])).toMatch(/the start of a login .* only the browser's window/);
  expect(session).toEqual({});
  await start();
  for (const more of [frame, { ...frame, user }]) {
    expect((await comeBack('strangers', more)).outcome).toMatchObject(refusal);
  }
  expect((await comeBack('own')).outcome).toEqual(success);
  expect(exchanged).toEqual(['own']);
});

describe('the page', () => {
  function open(options: OpenLogin = {}) {
    const tokenStore = new MemoryTokenStore({ clock: () => 0 });
    const login = openLogin({ confirm: true, tokenStore, ...options });
    const answer = async (id: string, given = 'continue', more?: object) =>
      (await login.visit({ marketgate: id, answer: given }, more)).outcome;
    return { ...login, answer, tokenStore };
  }

  it('shows whose account it is, in no frame and no cache, before anybody is logged in', async () => {
    const { visit, upToThePage, tokenStore } = open();
    const { recorded, res, isFresh } = await visit({ marketgate: await upToThePage() });
    expect(recorded).toEqual([['page', res.body]]);
    expect(res.body).toContain('Continue as <bdi>Mira Okafor</bdi>?');
    expect(res.body).toContain('<bdi>mira</bdi>');
    expect(res.body).not.toContain('token-1');
    expect([res.statusCode, isFresh, await tokenStore.get('77')]).toEqual([200, false, undefined]);
    expect(res.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
  });

  it('can be reloaded, and "Continue" logs in, once', async () => {
    const { visit, answer, upToThePage, tokenStore, exchanged, session } = open();
    const id = await upToThePage({ returnTo: '/account' });
    const asContinue = { marketgate: id, answer: 'continue' };
    for (let i = 0; i < 2; i++) expect((await visit({ marketgate: id })).outcome?.[0]).toBe('page');
    const copy = { ...session };
    const first = await visit(asContinue);
    expect(first).toMatchObject({ recorded: [success], to: '/account', isFresh: true });
    expect((await tokenStore.get('77'))?.value).toBe('token-1');
    expect(exchanged).toEqual(['k1']);
    // The second press of a browser that is logged in is passed on.
    const again = await visit(asContinue, { user });
    expect(again).toMatchObject({ recorded: [['pass']], to: '/account', isFresh: false });
    const options = { successReturnToOrRedirect: '/home' };
    const { outcome } = await visit(asContinue, { user }, options);
    expect(outcome).toEqual(['redirect', '/account']);
    Object.assign(session, copy);
    expect(await answer(id, 'continue', { headers: { cookie: 'seen=1' } })).toEqual(refused);
  });

  it('comes again with its auth_key and takes its answer, in any process, but in its browser alone', async () => {
    const here = open();
    const { browser, session } = here;
    const there = open({ browser, session });
    const id = await here.upToThePage();
    for (const { comeBack } of [here, there]) {
      expect(confirmationOf((await comeBack('k1')).outcome)).toBe(id);
      expect((await comeBack('another')).outcome).toEqual(refused);
    }
    const { comeBack, visit, answer, upToThePage } = open();
    await upToThePage({}, 'k2');
    expect((await comeBack('k1')).outcome).toEqual(refused);
    for (const other of [id, MADE_UP]) {
      expect((await visit({ marketgate: other })).outcome).toEqual(refused);
      const ofUser = await visit({ marketgate: other }, { user });
      expect(ofUser).toMatchObject({ outcome: ['pass'], to: undefined });
      expect(await answer(other)).toEqual(refused);
    }
    expect(await there.answer(id)).toEqual(success);
    expect(here.exchanged).toEqual(['k1']);
  });

  it('takes no answer that another origin has sent, and then the visitor’s own', async () => {
    const { answer, upToThePage } = open();
    const id = await upToThePage();
    for (const site of ['cross-site', 'same-site']) {
      for (const given of ['continue', 'cancel']) {
        expect(await answer(id, given, { headers: from(site) })).toEqual(refused);
      }
    }
    expect(await answer(id, 'continue', { headers: from('same-origin') })).toEqual(success);
  });

  it('logs nobody in after "Not me", also in a browser that still has the login', async () => {
    const { answer, upToThePage, tokenStore, session } = open();
    const id = await upToThePage();
    const copy = { ...session };
    const why = { code: 'login_failed', message: expect.stringContaining('nobody') };
    expect(await answer(id, 'cancel')).toEqual(['fail', expect.objectContaining(why), 401]);
    expect(await answer(id)).toEqual(refused);
    Object.assign(session, copy);
    expect(await answer(id)).toEqual(refused);
    expect(await tokenStore.get('77')).toBeUndefined();
  });

  it('takes "Continue" also after one that failed with the service or the store', async () => {
    const getUser = vi.fn(async () => userInfo);
    const { answer, upToThePage, tokenStore } = open({ api: { getUser } });
    const id = await upToThePage();
    getUser.mockRejectedValueOnce(new MarketgateError('service_unavailable', 'down'));
    vi.spyOn(tokenStore, 'set').mockRejectedValueOnce(new Error('down'));
    for (let i = 0; i < 2; i++) expect(await answer(id)).toMatchObject(['error', { status: 503 }]);
    expect(await answer(id)).toEqual(success);
  });

  it('is there for each login that waits, one that waits is no attempt, and the first answer ends all', async () => {
    const { start, comeBack, upToThePage, answer, exchanged } = open();
    await start();
    const first = await upToThePage();
    const second = confirmationOf((await comeBack('k2')).outcome);
    expect((await comeBack('k3')).outcome).toEqual(refused);
    expect(exchanged).toEqual(['k1', 'k2']);
    expect((await answer(first, 'perhaps'))?.[0]).toBe('page');
    expect(await answer(second)).toEqual(success);
    expect(await answer(first)).toEqual(refused);
  });

  it.each([
    ['after ten minutes', 600_000, 3_600_000],
    ['when the token has ended', 100_000, 100_000],
  ])('logs nobody in %s', async (_name, at, expiresAt) => {
    let now = 0;
    const exchange = async () => ({ value: 't', issuedAt: 0, expiresAt });
    const { answer, upToThePage } = open({ clock: () => now, api: { exchange } });
    const id = await upToThePage();
    now = at;
    expect(await answer(id)).toEqual(refused);
  });

  const crab = '\u{1f980}';
  it.each<[string, object, string, string]>([
    ['without any name', { user_name: undefined }, '77', '77'],
    ['with markup', { user_firstname: '<script>' }, '&lt;script&gt;', 'mira'],
    ['with a long name', { user_name: crab.repeat(60) }, crab.repeat(50), crab.repeat(50)],
  ])('of a user %s shows what there is', async (_name, given, name, username) => {
    const nameless = { user_firstname: undefined, user_lastname: undefined };
    const getUser = async () => ({ ...userInfo, ...nameless, ...given });
    const { visit, upToThePage } = open({ api: { getUser } });
    const { body } = (await visit({ marketgate: await upToThePage() })).res;
    expect(body).toContain(`Continue as <bdi>${name}</bdi>?`);
    expect(body).toContain(`User name <strong><bdi>${username}</bdi>`);
  });

  it('of the app gets whose login it is and where to answer, and its rejection is an error', async () => {
    const render = vi.fn().mockRejectedValue(new Error('no template'));
    const { visit, upToThePage } = open({ confirm: { ask: true, render } });
    const id = await upToThePage();
    const { outcome, req, res } = await visit({ marketgate: id });
    expect(outcome).toEqual(['error', new Error('no template')]);
    const form = { action: `?marketgate=${id}`, fields: { marketgate: id } };
    const asked = { name: 'Mira Okafor', username: 'mira', change: 'login', ...form };
    expect(render).toHaveBeenCalledExactlyOnceWith(asked, req, res);
  });

  const SITE = {
    ...{ name: 'Ada’s shop', logo: 'https://cdn.example/logo.svg' },
    words: { continue: { title: 'Weiter als {name}?', button: 'Weiter' } },
  };

  it('belongs to the site of the strategy, or of the error handlers, if all have the same, and loads its logo alone', async () => {
    // Their site belongs to the process, which test files share.
    vi.resetModules();
    onTestFinished(() => void vi.resetModules());
    const fresh = await import('marketgate');
    const page = async (site?: Site) => {
      const options = { loginApi: fakeLoginApi().loginApi, confirm: true, site };
      const strategy = new fresh.MarketplaceStrategy(options, async () => user);
      const { visit, upToThePage } = openLogin({ strategy });
      return (await visit({ marketgate: await upToThePage() })).res;
    };
    const { body, headers } = await page(SITE);
    const title = 'Weiter als <bdi>Mira Okafor</bdi>?';
    for (const part of ['Ada’s shop', `<img src="${SITE.logo}"`, title, '>Weiter<', 'Not me']) {
      expect(body).toContain(part);
    }
    expect(headers['content-security-policy']).toMatch(
      /default-src 'none'.*img-src https:\/\/cdn\.example\/logo\.svg; script-src 'sha256/,
    );
    expect((await page()).body).toContain('Continue as');
    fresh.errorHandler({ site: SITE });
    expect((await page()).body).toContain(title);
    expect((await page({})).body).toContain('Continue as');
    fresh.errorHandler({ site: { name: 'Another' } });
    expect((await page()).body).toContain('Continue as');
  });
});

it.each([
  { marketgate: '', answer: 'continue' },
  { marketgate: [MADE_UP], answer: 'continue' },
  { filter: { price: '1' } },
])('what the app has in the query, %j, starts a login', async (query) => {
  expect((await openLogin().visit(query)).outcome?.[0]).toBe('redirect');
});

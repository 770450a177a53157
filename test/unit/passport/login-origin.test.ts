import { MarketplaceStrategy, type MarketplaceStrategyOptions } from 'marketgate';
import { describe, expect, it } from 'vitest';
import {
  cookieBrowser,
  drive,
  fakeLoginApi,
  longSecret,
  type Recorded,
} from '../../support/strategy-harness.js';

// confirm: 'auto' asks "Continue as NAME?" where neither this site nor the visitor began the login.

type Headers = Record<string, string>;

const from = (site: string, dest = 'document', mode = 'navigate'): Headers => ({
  'sec-fetch-site': site,
  'sec-fetch-dest': dest,
  'sec-fetch-mode': mode,
});
const CALLBACK = from('cross-site');

describe.each(['session', 'cookie'] as const)("confirm: 'auto', with attempts in a %s", (where) => {
  function open(options: Partial<MarketplaceStrategyOptions> = {}) {
    const { loginApi, exchanged } = fakeLoginApi();
    const inCookie = { loginAttempts: { cookieSecret: longSecret() } };
    const strategy = new MarketplaceStrategy(
      { loginApi, ...(where === 'cookie' && inCookie), ...options },
      ({ profile }) => ({ id: profile.id }),
    );
    const browser = cookieBrowser();
    const session = {};
    const visit = async (headers: Headers, query: object = {}, more: object = {}) => {
      const holder = where === 'session' ? { session } : {};
      const { req } = browser.request(query, { ...holder, headers: { ...headers }, ...more });
      const [outcome] = await drive(strategy, req);
      return outcome;
    };
    const start = (headers: Headers = {}) => visit(headers);
    const comeBack = (auth_key = 'k1', headers = CALLBACK, more = {}) =>
      visit(headers, { auth_key }, more);
    return { exchanged, start, comeBack };
  }

  const isAsked = (outcome: Recorded | undefined): boolean =>
    outcome?.[0] === 'redirect' && /\/callback\?confirm=/.test(String(outcome[1]));

  it.each<[string, Headers]>([
    ['a link on a page of this site', from('same-origin')],
    ['a form on a page of this site', { ...from('same-origin'), origin: 'https://app.example' }],
    ['the address bar or a bookmark', from('none')],
    ['a browser that does not say', {}],
    ['a browser that says nothing useful', { 'sec-fetch-site': '', 'sec-fetch-dest': '' }],
  ])('a login begun by %s is not asked about', async (_name, headers) => {
    const { start, comeBack } = open();
    await start(headers);
    expect(await comeBack()).toEqual(['success', { id: '77' }, {}]);
  });

  it.each<[string, Headers]>([
    ['a page of another site', from('cross-site')],
    ['a page of another origin on the same site', from('same-site')],
    ['a value that does not exist yet', from('somewhere')],
    ['capitals', from('Cross-Site')],
    ['an image', from('same-origin', 'image', 'no-cors')],
    ['a frame of this site', from('same-origin', 'iframe')],
    ['a fetch', from('same-origin', 'empty', 'cors')],
    ['a service worker that passes the navigation on', from('same-origin', 'empty')],
    ['a script that was typed', from('none', 'script', 'no-cors')],
    ['another site, where the browser sends nothing else', { 'sec-fetch-site': 'cross-site' }],
    ['an image, where the browser sends nothing else', { 'sec-fetch-dest': 'image' }],
  ])('a login begun by %s is asked about', async (_name, headers) => {
    const { start, comeBack } = open();
    await start(headers);
    expect(await comeBack()).toSatisfy(isAsked);
  });

  it.each([
    ['first', [from('cross-site'), from('same-origin')]],
    ['last', [from('same-origin'), from('cross-site')]],
    ['in between', [from('none'), from('cross-site'), from('none')]],
  ])('one foreign login among several, begun %s, makes all ask', async (_name, starts) => {
    const { start, comeBack } = open();
    for (const headers of starts) await start(headers);
    for (let i = 0; i < starts.length; i++) {
      // The foreign one may be gone by the last callback, and then nobody is asked any more.
      const outcome = await comeBack(`k${i}`);
      if (i === 0) expect(outcome).toSatisfy(isAsked);
    }
  });

  it.each(['iframe', 'frame'])('a callback in an %s is asked about', async (dest) => {
    const { start, comeBack } = open();
    await start(from('same-origin'));
    expect(await comeBack('k1', from('same-site', dest))).toSatisfy(isAsked);
  });

  it.each<[string, Headers]>([
    ['an image', from('same-site', 'image', 'no-cors')],
    ['a script', from('same-origin', 'script', 'no-cors')],
    ['a fetch', from('same-origin', 'empty', 'cors')],
    ['a fetch that sends no mode', { 'sec-fetch-dest': 'empty' }],
    ['an <object>', from('same-site', 'object')],
    ['an <embed>', from('same-site', 'embed')],
    ['a style sheet', from('cross-site', 'style', 'no-cors')],
  ])('a callback as %s spends nothing, whatever confirm says', async (_name, headers) => {
    for (const confirm of ['auto', true, false] as const) {
      const { start, comeBack, exchanged } = open({ confirm });
      await start(from('same-origin'));
      for (const more of [{}, { user: { id: '77' } }]) {
        const [outcome, error] = (await comeBack('strangers', headers, more)) ?? [];
        expect([outcome, error]).toEqual([
          'error',
          expect.objectContaining({ code: 'login_failed', status: 401 }),
        ]);
      }
      expect(exchanged).toEqual([]);
      // The visitor's own login goes on.
      await comeBack('own');
      expect(exchanged).toEqual(['own']);
    }
  });

  it('a callback that a service worker passes on is a navigation', async () => {
    const { start, comeBack } = open();
    await start(from('same-origin'));
    expect((await comeBack('k1', from('cross-site', 'empty')))?.[0]).toBe('success');
  });

  it('with false nobody is asked, and with true everybody', async () => {
    for (const confirm of [true, { ask: true }, { ask: 'auto' as const }, false]) {
      const asks = open({ confirm });
      await asks.start(from('cross-site'));
      expect(isAsked(await asks.comeBack())).toBe(confirm !== false);
    }
    const own = open({ confirm: true });
    await own.start(from('same-origin'));
    expect(await own.comeBack()).toSatisfy(isAsked);
  });

  it('an own page decides how it looks, and not whether it is asked', async () => {
    const { start, comeBack } = open({ confirm: { render: () => {} } });
    await start(from('cross-site'));
    expect(await comeBack()).toSatisfy(isAsked);
  });

  it('a foreign login ends with any login of this browser', async () => {
    const { start, comeBack, exchanged } = open({ confirm: false });
    await start(from('cross-site'));
    await start(from('same-origin'));
    expect((await comeBack('own'))?.[0]).toBe('success');
    expect((await comeBack('strangers'))?.[2]).toBe(403);
    expect(exchanged).toEqual(['own']);
  });
});

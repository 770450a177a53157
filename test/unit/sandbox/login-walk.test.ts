import { describe, expect } from 'vitest';
import { attemptOn, Browser, infoBehind, it, type Running, start } from './support.js';

async function loginPage(running: Running, browser = new Browser(running.authUrl)) {
  const page = await browser.visit(`/api/oauth?app_id=${running.appId}`);
  return { browser, page, attempt: attemptOn(page.text) };
}

async function consentPage(running: Running, userId = '3001') {
  const { browser, attempt } = await loginPage(running);
  const chosen = await browser.submit('/sandbox/login', { attempt, user_id: userId });
  return { browser, attempt, page: await browser.visit(chosen.location) };
}

describe('the login pages', () => {
  it('has no script, and a cookie that scripts and other sites cannot use', async ({ running }) => {
    const { page } = await loginPage(running);
    expect(page.text).not.toContain('<script');
    expect(page.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax$/);
  });

  it('with rememberedConsent, later visits of the browser are redirected at once, with a new auth_key', async () => {
    const running = await start({ dialect: { rememberedConsent: true } });
    const browser = new Browser(running.authUrl);
    const first = await browser.logIn(running.appId, '3002');
    const again = await browser.visit(`/api/oauth?app_id=${running.appId}`);
    expect(again.status).toBe(302);
    expect(again.location).not.toBe(first);
    expect(await infoBehind(running, again.location)).toMatchObject({ user_id: '3002' });
    expect((await loginPage(running)).page.text).toContain('Choose a test user');
    running.sandbox.dialect.rememberedConsent = false;
    expect((await loginPage(running, browser)).page.text).toContain('Choose a test user');
  });

  it('cancel sends nothing to the app, and says so', async ({ running }) => {
    const { browser, attempt } = await consentPage(running);
    const page = await browser.submit('/sandbox/consent', { attempt, decision: 'cancel' });
    expect([page.status, page.location]).toEqual([200, '']);
    expect(page.text).toContain('Nothing was shared');
  });
});

describe('where an accepted login goes', () => {
  it.each([
    ['http://localhost:3999/cb?x=1', /^http:\/\/localhost:3999\/cb\?x=1\?auth_key=[0-9a-f]{32}$/],
    ['https://app.example/in', /^https:\/\/app\.example\/in\?auth_key=[0-9a-f]{32}$/],
  ])('to %s, as it stands meanwhile; ?auth_key= is appended literally', async (url, expected) => {
    const running = await start();
    running.sandbox.redirectUrl = url;
    expect(await new Browser(running.authUrl).logIn(running.appId)).toMatch(expected);
  });

  it.each([
    [false, /^http:\/\/localhost:3999\/callback\?auth_key=[0-9a-f]{32}$/],
    [true, /^http:\/\/localhost:3999\/callback\?auth_key=[0-9a-f]{32}&state=a%26b$/],
  ])('with echoState %s, and no other parameter', async (echoState, expected) => {
    const running = await start({ dialect: { echoState } });
    const query = `${running.appId}&state=a%26b&redirect_uri=http://evil.example/`;
    expect(await new Browser(running.authUrl).logIn(query)).toMatch(expected);
  });

  it('nowhere, where none is registered, and the page says how to', async () => {
    const running = await start({ redirectUrl: undefined });
    const page = await running.get(`/api/oauth?app_id=${running.appId}`);
    expect([page.status, page.text]).toEqual([400, expect.stringContaining('no redirect URL yet')]);
    expect(page.text).toContain('/sandbox/console#credentials');
  });
});

describe('what must not work', () => {
  it.each(['', '?app_id=', '?app_id=nope', '?app_id=18230471&app_id=18230471'])(
    '/api/oauth%s: a readable page',
    async (query) => {
      const { status, text } = await (await start()).get(`/api/oauth${query}`);
      expect(status).toBe(404);
      expect(text).toContain('This app is not known here');
    },
  );

  it('a consent form from another browser, with a made-up token, without one, or sent twice', async ({
    running,
  }) => {
    const { browser, attempt } = await consentPage(running);
    const stranger = new Browser(running.authUrl);
    await stranger.logIn(running.appId, '3004');
    const accept = async (who: Browser, token: string) => {
      const page = await who.submit('/sandbox/consent', { attempt: token, decision: 'accept' });
      return [page.status, page.location];
    };
    expect(await accept(stranger, attempt)).toEqual([400, '']);
    expect(await accept(new Browser(running.authUrl), attempt)).toEqual([400, '']);
    const wrong = ['', '0'.repeat(32)];
    for (const token of wrong) expect(await accept(browser, token)).toEqual([400, '']);
    expect((await accept(browser, attempt))[0]).toBe(303);
    expect(await accept(browser, attempt)).toEqual([400, '']);
  });

  it('consent before anyone logged in, and a login as somebody who does not exist', async ({
    running,
  }) => {
    const { browser, attempt } = await loginPage(running);
    const page = await browser.submit('/sandbox/consent', { attempt, decision: 'accept' });
    expect(page.location).toBe(`/sandbox/login?attempt=${attempt}`);
    const { location } = await browser.submit('/sandbox/login', { attempt, user_id: '9' });
    expect((await browser.visit(location)).text).toContain('Choose a test user');
  });
});

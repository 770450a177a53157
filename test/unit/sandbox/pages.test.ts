import { describe, expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { Browser, infoBehind, it, type Running, start } from './support.js';

// The rest is for axe: test/system/browser/accessibility.
it.for(['/sandbox/console', '/nothing', '/api/oauth?app_id=18230471'])(
  '%s has a strict policy, and nothing from elsewhere',
  async (path, { running }) => {
    const { headers, text } = await running.get(path);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    // The consent form goes on to the app.
    expect(policy).toMatch(/form-action 'self'(?: http:\/\/localhost:3999)?$/);
    expect(policy).not.toMatch(/script-src (?!'self')|\*/);
    expect(Object.fromEntries(headers)).toMatchObject({
      ...{ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' },
    });
    expect(text).not.toMatch(/(?:src|href|action)="https?:| (?:style|on\w+)="/);
  },
);

it('pages escape what a seed brings', async () => {
  const evil = '<img src=x onerror=alert(1)>"\'';
  const { users, apps, items } = createSandbox().data;
  const seed = {
    users: [{ ...users[0], user_name: evil, user_firstname: evil, user_email: evil }],
    apps: [{ ...apps[0], name: evil }],
    items: [{ ...items[0], name: evil, description: evil, tags: [evil], category: evil }],
  };
  const running = await start({ seed: seed as never });
  for (const path of ['/sandbox/console', `/api/oauth?app_id=${running.appId}`]) {
    const { text } = await running.get(path);
    expect(text).not.toContain('<img src=x');
    expect(text).toContain('&lt;img src=x');
  }
});

it.for([
  ['/nothing', 404, '<h1>That did not work'],
  ['/media/items/%E0%A4%A/preview.svg', 400, '<h1>That did not work'],
  ['/api/oauth', 404, 'This app is not known here'],
  ['/api/oauth?app_id=18230471&app_id=18230471', 404, 'This app is not known here'],
  ['/api/oauth?app_id=55409216', 400, 'sandbox/console#credentials'],
] as const)('%s is a readable page: %i %s', async ([path, status, said], { running }) => {
  expect(await running.get(path)).toMatchObject({ status, text: expect.stringContaining(said) });
});

describe('the login pages', () => {
  /** A browser on the login page of the first app, and the hidden token of the form there. */
  async function loginPage(running: Running) {
    const browser = new Browser(running.authUrl);
    const page = await browser.visit(`/api/oauth?app_id=${running.appId}`);
    const [, attempt = ''] = /name="attempt" value="([0-9a-f]+)"/.exec(page.text) ?? [];
    return {
      ...{ browser, page, attempt },
      choose: (user_id: string) => browser.visit('/sandbox/login', { attempt, user_id }),
      decide: (decision: string, token = attempt, who = browser) =>
        who.visit('/sandbox/consent', { attempt: token, decision }),
    };
  }
  const REFUSED = { status: 400, location: '' };

  it('are a choice of users and a consent, at every visit; cancel sends nothing to the app', async ({
    running,
  }) => {
    const { browser, page, choose, decide } = await loginPage(running);
    expect(page.text).not.toContain('<script');
    // Scripts and other sites cannot use it.
    expect(page.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax$/);
    const { location } = await choose('3002');
    const { text } = await browser.visit(location);
    expect(text).toMatch(/Northlight Studio wants to know who you are[\s\S]*Tomás Aguilar Ibáñez/);
    const nothing = expect.stringContaining('Nothing was shared');
    expect(await decide('cancel')).toMatchObject({ status: 200, location: '', text: nothing });
    const accepted = await decide('accept');
    const callback = /^http:\/\/localhost:3999\/callback\?auth_key=[0-9a-f]{32}$/;
    expect(accepted).toMatchObject({ status: 303, location: expect.stringMatching(callback) });
    expect(await infoBehind(running, accepted.location)).toMatchObject({ user_id: '3002' });
    const again = await browser.visit(`/api/oauth?app_id=${running.appId}`);
    expect(again.text).toContain('Choose an account');
  });

  it('take no consent before a login, from another browser, with a made-up token, or twice', async ({
    running,
  }) => {
    const { browser, attempt, choose, decide } = await loginPage(running);
    const toLogin = `/sandbox/login?attempt=${attempt}`;
    expect(await decide('accept')).toMatchObject({ status: 303, location: toLogin });
    // Nobody has this id.
    await choose('9');
    expect((await browser.visit(toLogin)).text).toContain('Choose an account');
    await choose('3001');
    const stranger = new Browser(running.authUrl);
    await stranger.logIn(running.appId, '3004');
    for (const who of [stranger, new Browser(running.authUrl)]) {
      expect(await decide('accept', undefined, who)).toMatchObject(REFUSED);
    }
    expect(await decide('accept', '0'.repeat(32))).toMatchObject(REFUSED);
    expect((await decide('accept')).status).toBe(303);
    expect(await decide('accept')).toMatchObject(REFUSED);
  });

  it('with rememberedConsent redirect later visits of the browser at once: ?auth_key= is appended literally, a state with echoState', async () => {
    const running = await start({ dialect: { rememberedConsent: true } });
    const { browser, choose, decide } = await loginPage(running);
    await choose('3002');
    const { location: first } = await decide('accept');
    running.sandbox.redirectUrl = 'http://localhost:3999/cb?x=1';
    const query = `${running.appId}&state=a%26b&redirect_uri=http://evil.example/`;
    const again = () => browser.visit(`/api/oauth?app_id=${query}`);
    const { status, location } = await again();
    expect(status).toBe(302);
    expect(location).toMatch(/^http:\/\/localhost:3999\/cb\?x=1\?auth_key=\w{32}$/);
    expect(location.slice(-32)).not.toBe(first.slice(-32));
    expect(await infoBehind(running, location)).toMatchObject({ user_id: '3002' });
    running.sandbox.dialect.echoState = true;
    expect((await again()).location).toMatch(/\?auth_key=\w{32}&state=a%26b$/);
    expect((await loginPage(running)).page.text).toContain('Choose an account');
  });
});

import { describe, expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { attemptOn, Browser, infoBehind, it, type Running, start } from './support.js';

// Labels and the like are for axe: test/system/browser/accessibility.
it.each([...['/sandbox/console', '/nothing'], '/api/oauth?app_id=18230471'])(
  '%s: strict policy, nothing from elsewhere, a language, a title, a heading',
  async (path) => {
    const { headers, text } = await (await start()).get(path);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    // The consent form goes on to the app.
    expect(policy).toMatch(/form-action 'self'(?: http:\/\/localhost:3999)?$/);
    expect(policy).not.toMatch(/script-src (?!'self')|\*/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text).not.toMatch(/(?:src|href|action)="https?:/);
    expect(text).not.toMatch(/ (?:style|on\w+)="/);
    expect(text).toMatch(/<html lang="en">[\s\S]*<title>[^<]+ · marketgate sandbox<\/title>/);
    expect(text.match(/<h1>/g)).toHaveLength(1);
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
  const login = `/api/oauth?app_id=${running.appId}`;
  for (const path of ['/sandbox/console', login]) {
    const { text } = await running.get(path);
    expect(text).not.toContain('<img src=x');
    expect(text).toContain('&lt;img src=x');
  }
});

it('browsers can seek in sounds and clips, by byte ranges', async ({ running }) => {
  const part = async (file: string, range: string) => {
    const url = `${running.baseUrl}/media/items/1055/${file}`;
    const response = await fetch(url, { headers: { range } });
    return [response.status, Buffer.from(await response.arrayBuffer()).toString('hex')];
  };
  expect(await part('music.mp3', 'bytes=0-1')).toEqual([206, 'fff3']);
  expect(await part('clip.webm', 'bytes=0-3')).toEqual([206, '1a45dfa3']);
  expect((await part('music.mp3', 'lines=1'))[0]).toBe(200);
});

const NO_URL = 'sandbox/console#credentials';
it.each([
  ['/nothing', 404, '<h1>That did not work'],
  ['/media/items/%E0%A4%A/preview.svg', 400, '<h1>That did not work'],
  ['/api/oauth', 404, 'This app is not known here'],
  ['/api/oauth?app_id=', 404, 'This app is not known here'],
  ['/api/oauth?app_id=nope', 404, 'This app is not known here'],
  ['/api/oauth?app_id=18230471&app_id=18230471', 404, 'This app is not known here'],
  ['/api/oauth?app_id=55409216', 400, NO_URL],
])(
  '%s, where no redirect URL is registered, is a readable page: %i %s',
  async (path, ...expected) => {
    const { status, text } = await (await start({ redirectUrl: undefined })).get(path);
    expect([status, text]).toEqual([expected[0], expect.stringContaining(expected[1])]);
    expect(text).not.toMatch(/node_modules|URIError/);
  },
);

describe('the login pages', () => {
  /** A browser on the consent page. */
  async function consentPage(running: Running) {
    const browser = new Browser(running.authUrl);
    const page = await browser.visit(`/api/oauth?app_id=${running.appId}`);
    const attempt = attemptOn(page.text);
    await browser.submit('/sandbox/login', { attempt, user_id: '3001' });
    const decide = async (decision: string, token = attempt, who = browser) => {
      const { status, location, text } = await who.submit('/sandbox/consent', {
        ...{ attempt: token, decision },
      });
      return { status, location, text };
    };
    return { page, decide };
  }

  it('have no script, and a cookie that scripts and other sites cannot use', async ({
    running,
  }) => {
    const { page } = await consentPage(running);
    expect(page.text).not.toContain('<script');
    expect(page.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Lax$/);
  });

  it('cancel sends nothing to the app, and says so', async ({ running }) => {
    const { decide } = await consentPage(running);
    const text = expect.stringContaining('Nothing was shared');
    expect(await decide('cancel')).toEqual({ status: 200, location: '', text });
  });

  it('take no consent from another browser, with a made-up token, without one, or twice', async ({
    running,
  }) => {
    const { decide } = await consentPage(running);
    const stranger = new Browser(running.authUrl);
    await stranger.logIn(running.appId, '3004');
    const refused = { status: 400, location: '' };
    for (const who of [stranger, new Browser(running.authUrl)]) {
      expect(await decide('accept', undefined, who)).toMatchObject(refused);
    }
    for (const token of ['', '0'.repeat(32)]) {
      expect(await decide('accept', token)).toMatchObject(refused);
    }
    expect((await decide('accept')).status).toBe(303);
    expect(await decide('accept')).toMatchObject(refused);
  });

  it('take no consent before a login, and no login as somebody who does not exist', async ({
    running,
  }) => {
    const browser = new Browser(running.authUrl);
    const { text } = await browser.visit(`/api/oauth?app_id=${running.appId}`);
    const attempt = attemptOn(text);
    const page = await browser.submit('/sandbox/consent', { attempt, decision: 'accept' });
    expect(page.location).toBe(`/sandbox/login?attempt=${attempt}`);
    const { location } = await browser.submit('/sandbox/login', { attempt, user_id: '9' });
    expect((await browser.visit(location)).text).toContain('Choose an account');
  });

  it('with rememberedConsent, later visits of the browser are redirected at once, with a new auth_key', async () => {
    const running = await start({ dialect: { rememberedConsent: true } });
    const browser = new Browser(running.authUrl);
    const visit = (who: Browser) => who.visit(`/api/oauth?app_id=${running.appId}`);
    const first = await browser.logIn(running.appId, '3002');
    const { status, location } = await visit(browser);
    expect([status, location === first]).toEqual([302, false]);
    expect(await infoBehind(running, location)).toMatchObject({ user_id: '3002' });
    const asked = 'Choose an account';
    expect((await visit(new Browser(running.authUrl))).text).toContain(asked);
    running.sandbox.dialect.rememberedConsent = false;
    expect((await visit(browser)).text).toContain(asked);
  });

  const KEY = 'auth_key=[0-9a-f]{32}';
  it.each([
    ['http://localhost:3999/cb', false, `cb\\?${KEY}`],
    ['http://localhost:3999/cb?x=1', false, `cb\\?x=1\\?${KEY}`],
    ['http://localhost:3999/cb', true, `cb\\?${KEY}&state=a%26b`],
  ])(
    'lead to %s with ?auth_key= appended literally, with echoState %s, and no other parameter',
    async (url, echoState, expected) => {
      const running = await start({ dialect: { echoState } });
      running.sandbox.redirectUrl = url;
      const query = `${running.appId}&state=a%26b&redirect_uri=http://evil.example/`;
      expect(await new Browser(running.authUrl).logIn(query)).toMatch(
        new RegExp(`^http://localhost:3999/${expected}$`),
      );
    },
  );
});

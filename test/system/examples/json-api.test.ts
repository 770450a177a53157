import type defaultExpress from 'express';
import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox, type Sandbox } from 'marketgate/sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../examples/json-api/app.js';
import { Browser } from '../../support/browser.js';
import { expressVersions } from '../../support/express-versions.js';
import { listen } from '../../support/listen.js';

const HOUR = 3_600_000;
const SECRET = 'for-the-tests-only-0123456789abcdef';
const NEWER = 'the-next-secret-of-the-tests-0123456';

interface Opened {
  readonly origin: string;
  readonly sandbox: Sandbox;
  readonly browser: Browser;
  /** Asks as a program does, with the browser's cookies. */
  ask(path: string, headers?: Record<string, string>): Promise<Response>;
  /** How often the service was asked for a path. */
  asked(path: string): number;
  /** The same app on the same marketplace, started anew with other secrets. */
  restart(cookieSecrets: string[]): Promise<string>;
}

interface Options {
  express?: typeof defaultExpress;
  production?: boolean;
}

async function open({ express, production = false }: Options = {}): Promise<Opened> {
  const sandbox = createSandbox();
  const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen();
  onTestFinished(() => sandbox.close());
  const { clock } = sandbox;
  const keyApi = new KeyApi({ baseUrl, apiKey, clock, retries: 0 });
  const loginApi = new LoginApi({ authUrl, appId, appSecret, clock });
  onTestFinished(() => keyApi.close());
  onTestFinished(() => loginApi.close());

  // The origin is known once it listens, and the app wants to know it.
  let app: ReturnType<typeof createApp> | undefined;
  const origin = await listen((req, res) => {
    // Node's fetch says "cors" whatever it is told; who asks for a page alone is meant as a browser.
    if (req.headers.accept === 'text/html') req.headers['sec-fetch-mode'] = 'navigate';
    app?.(req as never, res as never);
  });
  sandbox.redirectUrl = `${origin}/callback`;
  const start = (cookieSecrets: readonly string[]) => {
    app = createApp(
      { cookieSecrets, production, publicUrl: origin, mediaOrigin: baseUrl },
      { keyApi, loginApi, clock, ...(express && { express }) },
    );
  };
  start([SECRET]);
  const browser = new Browser();
  return {
    origin,
    sandbox,
    browser,
    ask: (path, headers) =>
      browser.get(`${origin}${path}`, { accept: 'application/json', ...headers }),
    asked: (path) => sandbox.requests.filter((request) => request.path === path).length,
    async restart(cookieSecrets) {
      start(cookieSecrets);
      return origin;
    },
  };
}

const problemOf = async (response: Response) => {
  expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(response.headers.has('location')).toBe(false);
  const body = (await response.json()) as { status: number; code?: string; detail?: string };
  expect(body.status).toBe(response.status);
  return body;
};

const codeOf = (sandbox: Sandbox, kind: string): string =>
  sandbox.codes.find((candidate) => candidate.kind === kind)?.code ?? '';

describe('the JSON API', () => {
  it.each(expressVersions)('serves on %s', async (_name, express) => {
    const { browser, origin, sandbox, ask } = await open({ express });
    expect(await (await ask('/api/items/1042')).json()).toMatchObject({ name: 'Fjord Light' });
    expect(await problemOf(await ask('/api/me'))).toMatchObject({ code: 'login_required' });
    const visit = await browser.logIn(`${origin}/api/me`, '3001');
    expect(JSON.parse(visit.text)).toMatchObject({ id: '3001' });
    const download = (kind: string) =>
      ask('/api/downloads/1042', { 'x-purchase-code': codeOf(sandbox, kind) });
    expect((await download('supported')).status).toBe(200);
    await sandbox.close();
    expect(await problemOf(await download('extended'))).toMatchObject({
      code: 'service_unavailable',
    });
  });

  describe('for programs', () => {
    it('the catalogue is public', async () => {
      const { ask } = await open();
      const { items } = (await (await ask('/api/items')).json()) as { items: { id: number }[] };
      expect(items.length).toBeGreaterThan(10);
      expect(await (await ask('/api/items/1042')).json()).toMatchObject({
        id: 1042,
        name: 'Fjord Light',
      });
      expect(await problemOf(await ask('/api/items/9999'))).toMatchObject({
        code: 'item_not_found',
      });
      expect(await problemOf(await ask('/api/items/abc'))).toMatchObject({
        code: 'item_id_invalid',
      });
    });

    it('without a login is 401, and never a redirect', async () => {
      const { ask } = await open();
      const programs: Record<string, string>[] = [
        { accept: 'application/json' },
        { accept: '*/*' },
        // A script in a page, which asks for HTML (sec-fetch-mode: cors).
        { accept: 'text/html,*/*;q=0.1', 'user-agent': 'Mozilla/5.0' },
      ];
      for (const path of ['/api/me', '/api/me/profile', '/api/downloads/1042']) {
        for (const headers of programs) {
          const response = await ask(path, headers);
          expect(response.status).toBe(401);
          expect(response.headers.has('location')).toBe(false);
        }
        expect(await problemOf(await ask(path))).toMatchObject({ code: 'login_required' });
      }
    });

    it('what does not exist is 404, in the same form', async () => {
      const { ask } = await open();
      expect(await problemOf(await ask('/api/nothing'))).toMatchObject({ status: 404 });
      expect(await problemOf(await ask('/api/items/%E0%A4%A'))).toMatchObject({ status: 400 });
    });
  });

  describe('logging in', () => {
    it('goes through the marketplace, and a cookie says who came back', async () => {
      const { browser, origin, ask, asked } = await open();
      const visit = await browser.logIn(`${origin}/login`, '3002');
      expect([visit.url, visit.status]).toEqual([`${origin}/`, 200]);
      expect(await (await ask('/api/me')).json()).toEqual({
        id: '3002',
        name: 'Tomás Aguilar Ibáñez',
      });
      expect(await (await ask('/api/me/profile')).json()).toEqual({
        id: '3002',
        username: 'taguilar',
        email: 'tomas@correo.example',
        verified: true,
      });
      expect(asked('/api/authorize')).toBe(1);
    });

    it('brings a browser back to where it was stopped', async () => {
      const { browser, origin } = await open();
      const visit = await browser.logIn(`${origin}/api/me?again=1`, '3001');
      expect(visit.url).toBe(`${origin}/api/me?again=1`);
      expect(JSON.parse(visit.text)).toMatchObject({ id: '3001' });
    });

    it('a callback that is opened again renews no login cookie', async () => {
      const { browser, origin } = await open();
      const callback = await browser.logInUpToCallback(`${origin}/login`, '3001');
      await browser.open(callback);
      for (const again of [callback, `${origin}/callback?auth_key=made-up`]) {
        const response = await browser.get(again);
        expect([response.status, response.headers.getSetCookie()]).toEqual([302, []]);
      }
    });

    it('does not go to another site afterwards', async () => {
      const { browser, origin } = await open();
      const visit = await browser.logIn(`${origin}/login?to=%2F%2Fevil.example%2F`);
      expect(visit.url).toBe(`${origin}/`);
    });

    it('starts where the marketplace will send the visitor back to', async () => {
      const { browser, origin } = await open();
      const { port } = new URL(origin);
      const response = await browser.get(`http://localhost:${port}/login?to=/api/me`);
      expect(response.headers.get('location')).toBe(`${origin}/login?to=/api/me`);
    });

    it('keeps nothing secret in the cookie, and scripts away from it', async () => {
      const { browser, origin, sandbox } = await open();
      const callback = await browser.logInUpToCallback(`${origin}/login`, '3001');
      const response = await browser.get(callback);
      const cookie =
        response.headers.getSetCookie().find((line) => line.startsWith('login=')) ?? '';
      expect(cookie).toMatch(/; HttpOnly/);
      expect(cookie).toMatch(/; SameSite=Lax/);
      expect(cookie).toMatch(/; Max-Age=7200/);
      const [, payload = ''] = cookie.split('.');
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
      expect(Object.keys(claims).sort()).toEqual(['exp', 'iat', 'iss', 'name', 'sub']);
      expect(Object.values(claims)).not.toContain(sandbox.data.users[0]?.user_email);
    });

    it('in production the cookies are for https, and for this host alone', async () => {
      const { browser, origin } = await open({ production: true });
      const forwarded = { 'x-forwarded-proto': 'https' };
      const started = await browser.get(`${origin}/login`, forwarded);
      expect(started.headers.getSetCookie()).toEqual([
        expect.stringMatching(/^__Host-marketgate\.login\.[\w-]+=.*; Path=\/.*; HttpOnly; Secure/),
      ]);
      const callback = await browser.logInUpToCallback(started.headers.get('location') ?? '');
      const back = await browser.get(callback, forwarded);
      expect(back.headers.getSetCookie()).toContainEqual(
        expect.stringMatching(/^__Host-login=.*; Path=\/.*; HttpOnly; Secure/),
      );
    });
  });

  describe('the callback', () => {
    it('that this browser did not start is 403, spends nothing, and says what to do', async () => {
      const { browser, origin, asked } = await open();
      const callback = await browser.logInUpToCallback(`${origin}/login`);
      const stranger = await new Browser().open(callback);
      expect(stranger.status).toBe(403);
      expect(stranger.text).toContain('allow cookies for this site');
      expect(stranger.text).toContain('href="/login"');
      const program = await new Browser().get(callback, { accept: 'application/json' });
      expect(await problemOf(program)).toMatchObject({ status: 403 });
      expect(asked('/api/authorize')).toBe(0);
      expect((await browser.open(callback)).status).toBe(200);
    });
  });

  describe('cookies', () => {
    /** The browser's cookies, with one of them changed. */
    const changed = (cookies: string, name: string, change: (value: string) => string) =>
      cookies
        .split('; ')
        .map((pair) =>
          pair.startsWith(`${name}=`) ? `${name}=${change(pair.slice(name.length + 1))}` : pair,
        )
        .join('; ');
    /** The same text with its middle character replaced by another of the alphabet. */
    const bent = (text: string): string => {
      const at = Math.floor(text.length / 2);
      return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
    };
    const bendPart = (part: number) => (value: string) =>
      value
        .split('.')
        .map((text, i) => (i === part ? bent(text) : text))
        .join('.');
    const withPayload = (payload: object) => (value: string) => {
      const [header, , signature] = value.split('.');
      const encoded = Buffer.from(JSON.stringify(payload)).toString('base64url');
      return [header, encoded, signature].join('.');
    };
    const unsigned = (value: string) => {
      const [, payload] = value.split('.');
      const header = Buffer.from('{"alg":"none"}').toString('base64url');
      return `${header}.${payload}.`;
    };

    it('a forged login cookie is nobody', async () => {
      const { browser, origin } = await open();
      await browser.logIn(`${origin}/login`, '3001');
      const me = (cookie: string) =>
        fetch(`${origin}/api/me`, { headers: { cookie, accept: 'application/json' } });
      const cookies = browser.cookies(origin);
      expect((await me(cookies)).status).toBe(200);
      const forgeries = [
        bendPart(0),
        bendPart(1),
        bendPart(2),
        withPayload({ sub: '3002', name: 'x', iss: 'json-api', exp: 9e9 }),
        unsigned,
        () => '',
      ];
      for (const forge of forgeries) {
        const forged = await me(changed(cookies, 'login', forge));
        expect(await problemOf(forged)).toMatchObject({ code: 'login_required' });
      }
    });

    it('a changed secret ends neither logins nor logins under way, while the old one is listed', async () => {
      const { browser, origin, ask, restart } = await open();
      await browser.logIn(`${origin}/login`, '3001');
      const underWay = new Browser();
      const callback = await underWay.logInUpToCallback(`${origin}/login`, '3002');

      await restart([NEWER, SECRET]);
      expect(await (await ask('/api/me')).json()).toMatchObject({ id: '3001' });
      await underWay.open(callback);
      const fresh = await underWay.get(`${origin}/api/me`, { accept: 'application/json' });
      expect(await fresh.json()).toMatchObject({ id: '3002' });

      await restart([NEWER]);
      expect((await ask('/api/me')).status).toBe(401);
      // Signed with the new one, which was first.
      const kept = await underWay.get(`${origin}/api/me`, { accept: 'application/json' });
      expect(kept.status).toBe(200);
    });
  });

  describe('later', () => {
    it('after an hour the token is over: 401 for programs, through the login and back for browsers', async () => {
      const { browser, origin, sandbox, ask, asked } = await open();
      await browser.logIn(`${origin}/login`, '3001');
      sandbox.clock.advance(HOUR);
      for (const path of ['/api/me/profile', '/api/downloads/1042']) {
        expect(await problemOf(await ask(path))).toMatchObject({ code: 'access_token_expired' });
      }
      // The login cookie lives longer, and asks nobody.
      expect((await ask('/api/me')).status).toBe(200);

      // Consent was given: the whole way is redirects.
      const visit = await browser.open(`${origin}/api/me/profile`);
      expect(visit.url).toBe(`${origin}/api/me/profile`);
      expect(JSON.parse(visit.text)).toMatchObject({ id: '3001' });
      expect(asked('/api/authorize')).toBe(2);
    });

    it('after two hours the cookie is over as well', async () => {
      const { browser, origin, sandbox, ask } = await open();
      await browser.logIn(`${origin}/login`, '3001');
      sandbox.clock.advance(2 * HOUR);
      expect(await problemOf(await ask('/api/me'))).toMatchObject({ code: 'login_required' });
    });

    it('an account that is gone is told so, and does not go round in circles', async () => {
      const { browser, origin, sandbox, ask } = await open();
      await browser.logIn(`${origin}/login`, '3001');
      sandbox.data.removeUser('3001');
      expect(await problemOf(await ask('/api/me/profile'))).toMatchObject({ code: 'login_failed' });
      // The marketplace has nobody logged in, and asks who it may be.
      const visit = await browser.open(`${origin}/api/me/profile`);
      expect([visit.status, new URL(visit.url).pathname]).toEqual([200, '/api/oauth']);
    });
  });

  describe('logging out', () => {
    const logOut = (opened: Opened, cookie = opened.browser.cookies(opened.origin)) =>
      fetch(`${opened.origin}/logout`, { method: 'POST', headers: { cookie } });

    it('takes the cookie back, and the token with it, also for a copy of the cookie', async () => {
      const opened = await open();
      const { browser, origin } = opened;
      await browser.logIn(`${origin}/login`, '3001');
      const copy = browser.cookies(origin);
      const response = await logOut(opened);
      expect(response.status).toBe(204);
      expect(response.headers.getSetCookie()).toEqual([
        expect.stringMatching(/^login=;.*Expires=Thu, 01 Jan 1970/),
      ]);
      const profile = await fetch(`${origin}/api/me/profile`, { headers: { cookie: copy } });
      expect(await problemOf(profile)).toMatchObject({ code: 'access_token_expired' });
    });

    it('is not done for another site, whose form brings no cookie', async () => {
      const opened = await open();
      await opened.browser.logIn(`${opened.origin}/login`, '3001');
      const response = await logOut(opened, '');
      expect([response.status, response.headers.getSetCookie()]).toEqual([204, []]);
      expect((await opened.ask('/api/me/profile')).status).toBe(200);
    });
  });

  describe('downloads', () => {
    it('open with the code of that very item', async () => {
      const { browser, origin, sandbox, ask } = await open();
      await browser.logIn(`${origin}/login`, '3001');
      const download = (kind: string, id = 1042) =>
        ask(`/api/downloads/${id}`, { 'x-purchase-code': codeOf(sandbox, kind) });
      expect(await (await download('supported')).json()).toMatchObject({
        item: { id: 1042, name: 'Fjord Light' },
        license_type: 'Regular',
        file: expect.stringMatching(/^item-1042-\d+\.\d+\.\d+\.zip$/),
      });
      expect(await problemOf(await download('other-item'))).toMatchObject({
        code: 'purchase_item_mismatch',
      });
      expect(await problemOf(await download('refunded'))).toMatchObject({
        code: 'purchase_code_invalid',
      });
      expect(await problemOf(await ask('/api/downloads/1042'))).toMatchObject({
        code: 'purchase_required',
      });
      expect(
        await problemOf(
          await ask('/api/downloads/abc', { 'x-purchase-code': codeOf(sandbox, 'supported') }),
        ),
      ).toMatchObject({ code: 'item_id_invalid' });
    });
  });
});

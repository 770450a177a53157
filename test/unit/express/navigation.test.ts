import session from 'express-session';
import { errorHandler, MarketgateError, requireAccessToken, requireLogin } from 'marketgate';
import request from 'supertest';
import { describe, expect, it } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe.each(expressVersions)('who is sent to the login, on %s', (_version, express) => {
  function appWith(loginPath?: string, withSession = false) {
    const app = express();
    if (withSession) app.use(session({ secret: 's', resave: false, saveUninitialized: false }));
    app.use(requireLogin(loginPath === undefined ? {} : { loginPath }));
    app.use(errorHandler({ log: false }));
    return app;
  }
  const go = (headers: Record<string, string> = {}, app = appWith()) =>
    request(app)
      .get('/account')
      .set({ accept: BROWSER, ...headers });

  it.each<[string, Record<string, string>]>([
    ['a browser that says nothing more', {}],
    ['a browser that says where it is going', { 'sec-fetch-mode': 'navigate' }],
    ['an app that says that it is one', { 'x-requested-with': 'com.example.app' }],
    ['Node', { 'user-agent': 'node', 'sec-fetch-mode': 'cors' }],
    ['undici', { 'user-agent': 'undici', 'sec-fetch-mode': 'cors' }],
  ])('%s', async (_name, headers) => {
    await go(headers).expect(302).expect('location', '/login');
  });

  it.each<[string, Record<string, string>]>([
    ['a script that calls itself something like Node', { 'user-agent': 'nodejs' }],
    ['a script of a browser', { 'user-agent': 'Mozilla/5.0 (node)' }],
    ['a script that says nothing of itself', { 'user-agent': '' }],
  ])('not %s', async (_name, headers) => {
    await go({ 'sec-fetch-mode': 'cors', ...headers }).expect(401);
  });

  it('also a browser that only asks for the headers, and no page is remembered for it', async () => {
    const answer = await request(appWith()).head('/account').set('accept', BROWSER).expect(302);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('not to a page on another site: that one is not remembered', async () => {
    const answer = await request(appWith())
      .get('//evil.example/account')
      .set('accept', BROWSER)
      .expect(302);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('and the page is remembered in the session where there is one', async () => {
    const answer = await go({}, appWith('/login', true)).expect(302);
    expect(String(answer.headers['set-cookie'])).toContain('connect.sid');
    expect(String(answer.headers['set-cookie'])).not.toContain('return_to');
  });

  it('for ten minutes in a cookie otherwise', async () => {
    const answer = await go().expect(302);
    expect(String(answer.headers['set-cookie'])).toMatch(/Max-Age=600; Path=\/;/);
  });

  it.each([
    ['/login', '/login?again'],
    ['/login?by=guard', '/login'],
  ])('to %s, but not from %s: that would never end', async (loginPath, path) => {
    const app = appWith(loginPath);
    await request(app).get(path).set('accept', BROWSER).expect(401);
    await request(app)
      .get('/account')
      .set('accept', BROWSER)
      .expect(302)
      .expect('location', loginPath);
  });

  it('requireAccessToken sends to where it is told, and to /login otherwise', async () => {
    for (const loginPath of [undefined, '/enter']) {
      const tokenStore = {
        get: async () => undefined,
        set: async () => {},
        delete: async () => {},
      };
      const app = express();
      app.use((req, _res, next) => next(void Object.assign(req, { user: { id: '1' } })));
      app.use(requireAccessToken({ tokenStore, loginPath }));
      await go({}, app)
        .expect(302)
        .expect('location', loginPath ?? '/login');
    }
  });
});

describe.each(expressVersions)('the page of errorHandler on %s', (_version, express) => {
  const pageFor = (
    code: 'login_required' | 'purchase_required',
    loginPath?: string,
    path = '/',
  ) => {
    const app = express();
    app.use((_req, _res, next) => next(new MarketgateError(code, 'x')));
    app.use(errorHandler({ loginPath }));
    return request(app).get(path).set('accept', BROWSER);
  };

  it('leads to the login where a redirect would never end', async () => {
    const { text } = await pageFor('login_required', '/login', '/login').expect(401);
    expect(text).toContain('<a href="/login">Log in</a>');
  });

  it('leads nowhere for another error, or where there is no login', async () => {
    for (const { text } of [
      await pageFor('purchase_required', '/login').expect(402),
      await pageFor('login_required').expect(401),
    ]) {
      expect(text).not.toContain('<a ');
      expect(text).not.toContain('undefined');
    }
  });

  it.each([
    'application/problem+json, text/html;q=0.9',
    'application/json, text/html;q=0.9',
    'application/problem+json;q=0.9, text/html;q=0.8',
  ])('is not for who accepts %s', async (accept) => {
    const answer = await pageFor('purchase_required').set('accept', accept).expect(402);
    expect(answer.type).toBe('application/problem+json');
  });

  it('brings its own style, and may load nothing else', async () => {
    const { text, headers } = await pageFor('purchase_required').expect(402);
    expect(text).toMatch(/<style>[^<]*color-scheme[^<]*<\/style>/);
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['retry-after']).toBeUndefined();
  });
});

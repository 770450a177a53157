import type { Request, Response } from 'express';
import express from 'express';
import session from 'express-session';
import {
  type AsyncVerify,
  errorHandler,
  MarketgateError,
  MarketplaceStrategy,
  MemoryTokenStore,
  requireLogin,
  returnTo,
} from 'marketgate';
import type { AuthenticateOptions } from 'passport';
import { expect, it, vi } from 'vitest';
import { Browser } from '../../support/browser.js';
import { openShop } from '../../support/shop.js';
import { giveId, longSecret, passportWith } from '../../support/strategy-harness.js';

// Whole logins, with Express, passport, its session and the sandbox.

const MIRA = '3001';

/** An app whose pages say who is logged in, and a browser. */
async function openApp(verify: AsyncVerify = giveId, auth: AuthenticateOptions = {}) {
  const shop = await openShop();
  const tokenStore = new MemoryTokenStore();
  const strategy = new MarketplaceStrategy({ loginApi: shop.loginApi, tokenStore }, verify);
  const passport = passportWith(strategy);
  const app = express();
  app.use(session({ secret: longSecret(), resave: false, saveUninitialized: false }));
  app.use(passport.session());
  const login = passport.authenticate('marketplace', { failWithError: true, ...auth });
  app.get('/login', login);
  app.get('/callback', login, (req, res) => res.redirect(returnTo(req) ?? '/'));
  const show = (req: Request, res: Response): void =>
    void res.send(`${req.originalUrl} ${req.user?.id ?? 'nobody'}`);
  app.get('/account', requireLogin(), show);
  app.get(['/', '/home'], show);
  app.use(errorHandler({ loginPath: '/login', log: false }));
  return { ...shop, tokenStore, origin: await shop.serve(app), browser: new Browser() };
}

it('a login comes back as the chosen user in a new session, is refused elsewhere, and is exchanged once', async () => {
  const { origin, browser, tokenStore, asked } = await openApp();
  const callback = await browser.logInUpToCallback(`${origin}/account?tab=2`, MIRA);
  expect(browser.history[2]).toMatch(/\/api\/oauth\?app_id=[^&]+$/);
  expect((await new Browser().open(callback)).status).toBe(403);
  // A stranger can have planted it.
  const cookie = browser.cookies(origin);
  expect((await browser.open(callback)).text).toBe(`/account?tab=2 ${MIRA}`);
  expect((await new Browser().open(origin, { cookie })).text).toBe('/ nobody');
  expect(await tokenStore.get(MIRA)).toMatchObject({ value: expect.any(String) });
  expect((await browser.open(callback)).text).toBe(`/ ${MIRA}`);
  expect(asked('/api/authorize')).toBe(1);
});

it('a login that fails ends in a page with a way to the login, and the next one goes where the visitor wanted', async () => {
  const { origin, browser, loginApi } = await openApp();
  // A query of the app's own, which names no callback.
  const wanted = `/account?auth_key=mine&confirm=${'a'.repeat(22)}`;
  for (const [code, status] of [
    ['access_token_expired', 401],
    ['service_unavailable', 503],
  ] as const) {
    vi.spyOn(loginApi, 'getUser').mockRejectedValueOnce(new MarketgateError(code, 'no'));
    const page = await browser.logIn(origin + wanted, MIRA);
    expect([page.status, page.text]).toEqual([status, expect.stringContaining('href="/login"')]);
  }
  expect((await browser.logIn(`${origin}/login`, MIRA)).text).toBe(`${wanted} ${MIRA}`);
});

it('a login that verify refuses ends in a page that links the marketplace, where the visitor can log out', async () => {
  const { origin, browser, loginApi } = await openApp(() => false);
  const { status, text } = await browser.logIn(`${origin}/account`, MIRA);
  const link = `href="${new URL('/', loginApi.loginUrl()).href}"`;
  expect([status, text]).toEqual([401, expect.stringContaining(link)]);
});

it('successReturnToOrRedirect leads to the page that requireLogin has saved, and else where it says', async () => {
  const { origin, browser } = await openApp(giveId, { successReturnToOrRedirect: '/home' });
  const stopped = `${origin}/account?tab=2`;
  expect((await browser.logIn(stopped, MIRA)).url).toBe(stopped);
  browser.clearCookies();
  expect((await browser.logIn(`${origin}/login`, MIRA)).text).toBe(`/home ${MIRA}`);
});

it('an hourly renewal needs no page, also where users have their ids elsewhere', async () => {
  const verify: AsyncVerify = async ({ profile }) => ({ KEY: `row ${profile.id}` }) as Express.User;
  const { origin, browser } = await openApp(verify);
  for (let i = 0; i < 2; i++) {
    expect((await browser.logIn(`${origin}/login`, MIRA)).url).toBe(`${origin}/`);
  }
  expect((await browser.logIn(`${origin}/login`, '3002')).text).toContain('Continue as');
});

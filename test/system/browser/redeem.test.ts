import express from 'express';
import session from 'express-session';
import {
  errorHandler,
  firstOf,
  fromBody,
  fromSession,
  MarketplaceStrategy,
  MemoryHolderStore,
  requirePurchase,
  returnTo,
} from 'marketgate';
import { Passport } from 'passport';
import { describe, expect, it } from 'vitest';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { openShop } from '../../support/shop.js';

describe.skipIf(chromiumIsMissing())('the form for a purchase code in Chromium', () => {
  it('is followed through the login to which the code leads', async () => {
    const shop = await openShop();
    const { keyApi, loginApi } = shop;
    const passport = new Passport();
    passport.use(new MarketplaceStrategy({ loginApi }, ({ profile }) => ({ id: profile.id })));
    passport.serializeUser((user, done) => done(null, user));
    passport.deserializeUser<Express.User>((user, done) => done(null, user));
    const app = express();
    app.use(session({ secret: 'of the tests', resave: false, saveUninitialized: false }));
    app.use(passport.session());
    const login = passport.authenticate('marketplace', { keepSessionInfo: true });
    app.get('/login', login);
    app.get('/callback', login, (req, res) => res.redirect(returnTo(req) ?? '/'));
    const code = firstOf(fromBody(), fromSession());
    app.post('/redeem', express.urlencoded(), requirePurchase(keyApi, { code }), (req, res) => {
      Object.assign(req.session, { purchase_code: req.body.purchase_code });
      res.redirect(303, '/download');
    });
    // Nobody is logged in: the code comes first, and then the login, which is on another site.
    const id = (req: express.Request) => (req.user as { id: string } | undefined)?.id;
    const holder = { store: new MemoryHolderStore(), id };
    app.get('/download', requirePurchase(keyApi, { code: fromSession(), holder }), (_req, res) => {
      res.send('the file');
    });
    app.use(errorHandler({ loginPath: '/login', redeemPath: '/redeem' }));
    const origin = await shop.serve(app, 'localhost');

    const page = await (await newContext()).newPage();
    await page.goto(`${origin}/download`);
    await page.getByLabel('Purchase code').fill(shop.code('supported'));
    await page.getByLabel('Purchase code').press('Enter');
    await page.getByRole('button', { name: 'Mira Solheim' }).click();
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.waitForURL(`${origin}/download`);
    expect(await page.locator('body').textContent()).toBe('the file');
  });
});

import type { Express } from 'express';
import { loadUser, requireAccessToken } from 'marketgate';
import { loggedIn, refreshed } from '../customer.js';
import { customersOnly } from '../customers-only.js';
import { ownPurchases } from '../purchases.js';
import { sendPage } from '../send-page.js';
import type { Shop } from '../shop.js';
import { accountView } from '../views/account.js';

/** The customer's own page: who they are, and what they bought. */
export function addAccount(app: Express, shop: Shop): void {
  const { loginApi, tokenStore } = shop;
  app.use('/account', customersOnly);

  // Needs the marketplace's token, which lives an hour: after that the way leads through the login,
  // and back here.
  app.get(
    '/account/refresh',
    requireAccessToken({ tokenStore }),
    loadUser(loginApi, { tokenStore }),
    (req, res, next) => {
      const customer = loggedIn(req);
      const user = req.marketplace?.user;
      if (customer === undefined || user === undefined) return next();
      // The purchases lie in the session, so that must stay.
      req.login(refreshed(customer, user), { session: true, keepSessionInfo: true }, (error) => {
        if (error) next(error);
        else res.redirect('/account');
      });
    },
  );

  app.get('/account', (req, res, next) => {
    const customer = loggedIn(req);
    if (customer === undefined) return next();
    // Said once: after a reload it is no news any more.
    const added = req.session.justAdded;
    delete req.session.justAdded;
    sendPage(req, res, shop, {
      title: 'Your account',
      section: 'account',
      main: accountView({ customer, purchases: ownPurchases(req), added, now: Date.now() }),
    });
  });
}

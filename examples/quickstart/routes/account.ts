import type { Express } from 'express';
import { loggedIn } from '../customer.js';
import { customersOnly } from '../customers-only.js';
import { ownPurchases } from '../purchases.js';
import { sendPage } from '../send-page.js';
import type { Shop } from '../shop.js';
import { accountView } from '../views/account.js';

/** The customer's own page: who they are, and what they bought. */
export function addAccount(app: Express, shop: Shop): void {
  app.use('/account', customersOnly);
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

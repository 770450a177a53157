import type { Express, RequestHandler } from 'express';
import { fromBody, requirePurchase } from 'marketgate';
import { customersOnly } from '../customers-only.js';
import { type CodeProblem, onTheForm } from '../errors.js';
import { nameOfItem, remember } from '../purchases.js';
import { type Page, sendPage } from '../send-page.js';
import type { Shop } from '../shop.js';
import { redeemView } from '../views/redeem.js';

const page = (problem?: CodeProblem): Page => ({
  title: problem ? 'Problem: redeem a code' : 'Redeem a code',
  section: 'redeem',
  main: redeemView(problem),
});

/** The form that turns a purchase code into one of "your purchases". */
export function addRedeem(app: Express, shop: Shop): void {
  const guard = requirePurchase(shop.keyApi, { code: fromBody('purchase_code') });
  const refused = onTheForm(shop, (_req, problem) => page(problem));

  // In front of the routes and not in them: that a login is missing is nothing for the form to say.
  app.use('/redeem', customersOnly);
  app.get('/redeem', (req, res) => sendPage(req, res, shop, page()));
  app.post('/redeem', guard, keep, refused);
}

const keep: RequestHandler = (req, res, next) => {
  const purchase = req.marketplace?.purchase;
  if (purchase === undefined) return next();
  remember(req, purchase);
  req.session.justAdded = nameOfItem(purchase.item);
  // Saved before the browser is sent on: it could be there before its session is.
  req.session.save((error) => (error ? next(error) : res.redirect(303, '/account')));
};

import type { Express } from 'express';
import { loadAccount, requirePurchase } from 'marketgate';
import { codeForItem, nameOfItem } from '../purchases.js';
import { sendPage } from '../send-page.js';
import type { Shop } from '../shop.js';
import { supportView } from '../views/support.js';

/** Help for customers whose support period still runs: compared with now, not with when they redeemed. */
export function addSupport(app: Express, shop: Shop): void {
  app.get(
    '/items/:id/support',
    requirePurchase(shop.keyApi, {
      item: (req) => Number(req.params.id),
      code: codeForItem,
      supported: true,
    }),
    // The account is the seller's own: only the address meant for customers is shown of it.
    loadAccount(shop.keyApi),
    (req, res, next) => {
      const { purchase, account } = req.marketplace ?? {};
      if (purchase === undefined) return next();
      sendPage(req, res, shop, {
        title: `Support for ${nameOfItem(purchase.item)}`,
        section: 'account',
        main: supportView({ purchase, email: account?.profile?.contact?.email }),
      });
    },
  );
}

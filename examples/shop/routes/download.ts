import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { isMarketgateError, loadItem, requirePurchase } from 'marketgate';
import { onTheForm } from '../errors.js';
import { packageOf } from '../package-file.js';
import { codeForItem, forget, purchaseOf } from '../purchases.js';
import type { Shop } from '../shop.js';
import { itemView } from '../views/item.js';

/**
 * The file behind the paywall. `item` binds the code to the item in the address: without it, the code
 * of the cheapest item would open them all.
 */
export function addDownload(app: Express, shop: Shop): void {
  const guard = requirePurchase(shop.keyApi, {
    item: (req) => Number(req.params.id),
    code: codeForItem,
  });
  const refused = [
    dropDeadPurchase,
    alsoLoadItem(loadItem(shop.keyApi)),
    onTheForm(shop, (req, problem) => {
      const item = req.marketplace?.item;
      return (
        item && {
          title: `Problem: ${item.name}`,
          section: 'catalogue',
          main: itemView({ item, own: purchaseOf(req, item.id), problem }),
        }
      );
    }),
  ];
  // GET for the link of a customer who redeemed a code, POST for the form of one who did not.
  app.get('/items/:id/download', guard, sendFile, refused);
  app.post('/items/:id/download', guard, sendFile, refused);
}

const sendFile: RequestHandler = (req, res, next) => {
  const purchase = req.marketplace?.purchase;
  if (purchase === undefined) return next();
  const { name, content } = packageOf(purchase);
  res.attachment(name);
  res.send(content);
};

/** A purchase that was refunded since it was redeemed is none any more. */
const dropDeadPurchase: ErrorRequestHandler = (error, req, _res, next) => {
  const own = purchaseOf(req, Number(req.params.id));
  const cameFromSession = req.body?.purchase_code === undefined && !req.get('x-purchase-code');
  if (
    own &&
    cameFromSession &&
    isMarketgateError(error) &&
    error.code === 'purchase_code_invalid'
  ) {
    forget(req, own.code);
  }
  next(error);
};

/** The form is on the item's page. If that cannot be shown, the first error is what is told. */
const alsoLoadItem =
  (load: RequestHandler): ErrorRequestHandler =>
  (error, req, res, next) =>
    load(req, res, () => next(error));

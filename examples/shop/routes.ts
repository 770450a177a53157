import type { ErrorRequestHandler, Express, Request, RequestHandler } from 'express';
import {
  accountOf,
  fromBody,
  isMarketgateError,
  itemOf,
  itemsOf,
  loadAccount,
  loadItem,
  loadItems,
  MemoryHolderStore,
  purchaseOf,
  requirePurchase,
} from 'marketgate';
import { onTheForm } from './errors.js';
import { nameOf, type Shop, sendPage } from './layout.js';
import { customerOf, customersOnly } from './login.js';
import { codeForItem, forget, ownPurchaseOf, ownPurchases, remember } from './purchases.js';
import {
  accountView,
  catalogueView,
  contactView,
  itemView,
  redeemView,
  supportView,
} from './views.js';

export function addRoutes(app: Express, shop: Shop): void {
  const { keyApi } = shop;
  const item = (req: { params: { id?: string } }) => Number(req.params.id);

  app.get('/', loadItems(keyApi), (req, res) => {
    const category = typeof req.query.category === 'string' ? req.query.category : undefined;
    const main = catalogueView(itemsOf(req), category, shop.shopName);
    sendPage(req, res, shop, { title: category ?? 'Catalogue', section: 'catalogue', main });
  });

  const showItem: RequestHandler = (req, res) => {
    const item = itemOf(req);
    const main = itemView(item, ownPurchaseOf(req, item.id));
    sendPage(req, res, shop, { title: item.name, section: 'catalogue', main });
  };
  app.get('/items/:id', loadItem(keyApi), showItem);

  const refused = [
    forgetRefunded,
    alsoLoadItem(loadItem(keyApi)),
    onTheForm(shop, (req, problem) => {
      const item = req.marketplace?.item;
      if (item === undefined) return undefined;
      const main = itemView(item, ownPurchaseOf(req, item.id), problem);
      return { title: `Problem: ${item.name}`, section: 'catalogue', main };
    }),
  ];
  // `item` binds the code to the item in the URL. Without it, any code opens every download.
  const guard = requirePurchase(keyApi, { item, code: codeForItem });
  // GET for customers who redeemed a code, POST for the form of the others.
  app.get('/items/:id/download', guard, sendLicence, refused);
  app.post('/items/:id/download', guard, sendLicence, refused);

  // `supported` is compared with the current time, not with the time of redeeming.
  const supported = requirePurchase(keyApi, { item, code: codeForItem, supported: true });
  app.get('/items/:id/support', supported, loadAccount(keyApi), (req, res) => {
    const main = supportView(purchaseOf(req), accountOf(req).profile?.contact?.email);
    sendPage(req, res, shop, { title: 'Support', section: 'account', main });
  });

  app.get('/contact', loadAccount(keyApi), (req, res) => {
    const main = contactView(accountOf(req).profile?.contact?.email);
    sendPage(req, res, shop, { title: 'Contact', main });
  });

  // Before the routes, so that a missing login is not shown on the form.
  app.use(['/redeem', '/account'], customersOnly);
  const redeemPage = { title: 'Redeem a code', section: 'redeem' } as const;
  app.get('/redeem', (req, res) => sendPage(req, res, shop, { ...redeemPage, main: redeemView() }));
  // One code, one customer. A shop with a database stores the holders there.
  const holder = { store: new MemoryHolderStore(), id: (req: Request) => customerOf(req)?.id };
  app.post(
    '/redeem',
    requirePurchase(keyApi, { code: fromBody('purchase_code'), holder }),
    keepPurchase,
    onTheForm(shop, (_req, problem) => ({ ...redeemPage, main: redeemView(problem) })),
  );

  app.get('/account', (req, res, next) => {
    const customer = customerOf(req);
    if (customer === undefined) return next();
    const { justAdded } = req.session;
    delete req.session.justAdded;
    const main = accountView(customer, ownPurchases(req), justAdded);
    sendPage(req, res, shop, { title: 'Your account', section: 'account', main });
  });
}

const keepPurchase: RequestHandler = (req, res, next) => {
  remember(req, purchaseOf(req));
  // Saved before the redirect, because the browser can be faster than the session store.
  req.session.save((error) => (error ? next(error) : res.redirect(303, '/account')));
};

/** What the customer bought. A real shop sends the item's file: `res.download(path)`. */
const sendLicence: RequestHandler = (req, res) => {
  const { item, license_type = 'not stated', supported_until } = purchaseOf(req);
  res.attachment(`licence-${item.id}.txt`).type('text/plain');
  res.send(`Item: ${nameOf(item)} (${item.id})
Licence: ${license_type}
Support until: ${supported_until?.slice(0, 10) ?? 'not included'}
`);
};

/** Removes a redeemed purchase that is no longer valid. */
const forgetRefunded: ErrorRequestHandler = (error, req, _res, next) => {
  const own = ownPurchaseOf(req, Number(req.params.id));
  const wasSent = req.body?.purchase_code !== undefined || req.get('x-purchase-code');
  const isInvalid = isMarketgateError(error) && error.code === 'purchase_code_invalid';
  if (own && !wasSent && isInvalid) forget(req, own);
  next(error);
};

/** Loads the item for the page with the form. If that fails, too, the first error is shown. */
const alsoLoadItem =
  (load: RequestHandler): ErrorRequestHandler =>
  (error, req, res, next) =>
    load(req, res, () => next(error));

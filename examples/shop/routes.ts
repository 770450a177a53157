import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';
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
import { type CodeProblem, onTheForm } from './errors.js';
import { nameOf, type Page, type Shop, sendPage } from './layout.js';
import { customerOf, customersOnly } from './login.js';
import { forget, ownCode, ownPurchaseOf, ownPurchases, remember } from './purchases.js';
import {
  accountView,
  catalogueView,
  contactView,
  itemView,
  redeemView,
  renewView,
  supportView,
} from './views.js';

export function addRoutes(app: Express, shop: Shop): void {
  const { keyApi } = shop;
  const item = (req: { params: { id?: string } }) => Number(req.params.id);
  // One code, one customer. A shop with a database stores the holders there.
  const holder = { store: new MemoryHolderStore(), id: (req: Request) => customerOf(req)?.id };

  app.get('/', loadItems(keyApi), (req, res) => {
    const category = typeof req.query.category === 'string' ? req.query.category : undefined;
    const main = catalogueView(itemsOf(req), category, shop.shopName);
    sendPage(req, res, shop, { title: category ?? 'Catalogue', section: 'catalogue', main });
  });

  app.get('/items/:id', loadItem(keyApi), (req, res) => sendItem(req, res, shop));

  /** Shows what is wrong with a code next to the form on the item's page. */
  const onTheItem = [
    forgetRefunded,
    alsoLoadItem(loadItem(keyApi)),
    onTheForm(shop, (req, problem) => req.marketplace?.item && itemPage(req, shop, problem)),
  ];
  // The login comes first, so that the code is redeemed for an account. `item` binds the code to the item in the URL:
  // without it, any code would open every download.
  app.post(
    '/items/:id/redeem',
    customersOnly,
    requirePurchase(keyApi, { item, code: fromBody('purchase_code'), holder }),
    keepPurchase((req) => `/items/${req.params.id}`),
    onTheItem,
  );
  // The address of a refused form, opened again.
  app.get('/items/:id/redeem', (req, res) => res.redirect(`/items/${req.params.id}`));
  const guard = requirePurchase(keyApi, { item, code: ownCode, holder });
  app.get('/items/:id/download', customersOnly, guard, sendLicence, onTheItem);

  // `supported` is compared with the current time, not with the time of redeeming.
  const supported = requirePurchase(keyApi, { item, code: ownCode, holder, supported: true });
  app.get('/items/:id/support', ...customersOnly, supported, loadAccount(keyApi), (req, res) => {
    const main = supportView(purchaseOf(req), accountOf(req).profile?.contact?.email);
    sendPage(req, res, shop, { title: 'Support', section: 'account', main });
  });
  app.get('/items/:id/renew', loadItem(keyApi), loadAccount(keyApi), (req, res) => {
    const item = itemOf(req);
    const main = renewView(item, shop.buyUrl(item), accountOf(req).profile?.contact?.email);
    sendPage(req, res, shop, { title: `Renew support for ${nameOf(item)}`, main });
  });
  app.get('/contact', loadAccount(keyApi), (req, res) => {
    const main = contactView(accountOf(req).profile?.contact?.email);
    sendPage(req, res, shop, { title: 'Contact', main });
  });

  // Before the routes, so that a missing login is not shown on the form.
  app.use(['/redeem', '/account'], customersOnly);
  const redeemPage = { title: 'Redeem a code', section: 'redeem' } as const;
  app.get('/redeem', (req, res) => sendPage(req, res, shop, { ...redeemPage, main: redeemView() }));
  app.post(
    '/redeem',
    requirePurchase(keyApi, { code: fromBody('purchase_code'), holder }),
    keepPurchase(() => '/account'),
    onTheForm(shop, (_req, problem) => ({ ...redeemPage, main: redeemView(problem) })),
  );

  app.get('/account', (req, res, next) => {
    const customer = customerOf(req);
    if (customer === undefined) return next();
    const main = accountView(customer, ownPurchases(req), takeJustAdded(req), shop.clock());
    sendPage(req, res, shop, { title: 'Your account', section: 'account', main });
  });
}

function itemPage(req: Request, shop: Shop, problem?: CodeProblem): Page {
  const item = itemOf(req);
  const { originalUrl } = req;
  const main = itemView(item, {
    own: ownPurchaseOf(req, item.id),
    now: shop.clock(),
    buyUrl: shop.buyUrl(item),
    loginHref: customerOf(req) ? undefined : `/login?to=${encodeURIComponent(originalUrl)}`,
    justAdded: takeJustAdded(req),
    problem,
  });
  const title = problem ? `Problem: ${nameOf(item)}` : nameOf(item);
  return { title, section: 'catalogue', main };
}

const sendItem = (req: Request, res: Response, shop: Shop): void =>
  sendPage(req, res, shop, itemPage(req, shop));

/** The name of the item that was just redeemed: shown once. */
function takeJustAdded(req: Request): string | undefined {
  const { justAdded } = req.session;
  delete req.session.justAdded;
  return justAdded;
}

/** A redirect and not the page or the file: a reload sends no form again, and what the form complained about is gone. */
const keepPurchase =
  (then: (req: Request) => string): RequestHandler =>
  (req, res, next) => {
    remember(req, purchaseOf(req));
    // Saved before the redirect, because the browser can be faster than the session store.
    req.session.save((error) => (error ? next(error) : res.redirect(303, then(req))));
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
  const isInvalid = isMarketgateError(error) && error.code === 'purchase_code_invalid';
  if (own && req.method === 'GET' && isInvalid) forget(req, own);
  next(error);
};

/** Loads the item for the page with the form. If that fails, too, the first error is shown. */
const alsoLoadItem =
  (load: RequestHandler): ErrorRequestHandler =>
  (error, req, res, next) =>
    load(req, res, () => next(error));

import type { Express } from 'express';
import {
  fromHeader,
  type Item,
  type KeyApi,
  type LoginApi,
  loadItem,
  loadItems,
  loadUser,
  requireAccessToken,
  requireLogin,
  requirePurchase,
  type TokenStore,
} from 'marketgate';
import { visitorOf } from './visitor.js';

interface ApiParts {
  keyApi: KeyApi;
  loginApi: LoginApi;
  tokenStore: TokenStore;
  clock: () => number;
}

const loginPath = '/login';

/** The API. Programs get JSON, and never a redirect; a browser that opens a route is sent to log in. */
export function addApi(app: Express, { keyApi, loginApi, tokenStore, clock }: ApiParts): void {
  // Who the login cookie says. Asks nobody.
  app.get('/api/me', requireLogin({ loginPath }), (req, res) => {
    res.json(visitorOf(req));
  });

  // Who the marketplace says, now. Needs an access_token that is alive: an hour after the login it is
  // over, and errorHandler turns that into 401, or for a browser into the way through the login.
  app.get(
    '/api/me/profile',
    requireAccessToken({ tokenStore, loginPath, clock }),
    loadUser(loginApi, { tokenStore }),
    (req, res) => {
      // Chosen field by field: a profile can hold a birthday, and fields nobody has heard of yet.
      const user = req.marketplace?.user;
      res.json({
        id: user?.user_id,
        username: user?.user_name,
        email: user?.user_email,
        verified: user?.user_verified === '1',
      });
    },
  );

  app.get('/api/items', loadItems(keyApi), (req, res) => {
    res.json({ items: req.marketplace?.items?.map(summaryOf) });
  });

  app.get('/api/items/:id', loadItem(keyApi), (req, res) => {
    res.json(req.marketplace?.item);
  });

  app.get(
    '/api/downloads/:id',
    requireAccessToken({ tokenStore, loginPath, clock }),
    requirePurchase(keyApi, {
      // A header, and not the query: URLs are logged, and a code is worth what it was bought for.
      code: fromHeader('x-purchase-code'),
      // Binds the code to the item in the address: without it, the cheapest would open them all.
      item: (req) => Number(req.params.id),
    }),
    (req, res) => {
      const purchase = req.marketplace?.purchase;
      // Yours would be the file itself, or an address in a bucket that is good for a minute.
      res.json({
        item: purchase && summaryOf(purchase.item),
        license_type: purchase?.license_type,
        supported_until: purchase?.supported_until,
        file: `item-${purchase?.item.id}-${purchase?.item.version ?? 'latest'}.zip`,
      });
    },
  );
}

const summaryOf = ({ id, name, category, price, currency, media }: Item) => ({
  id,
  name,
  category,
  price,
  currency,
  thumbnail: media?.thumbnail,
});

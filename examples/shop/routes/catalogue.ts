import type { Express } from 'express';
import { loadItem, loadItems } from 'marketgate';
import { purchaseOf } from '../purchases.js';
import { sendPage } from '../send-page.js';
import type { Shop } from '../shop.js';
import { catalogueView } from '../views/catalogue.js';
import { itemView } from '../views/item.js';

/** The catalogue and the page of each item. */
export function addCatalogue(app: Express, shop: Shop): void {
  app.get('/', loadItems(shop.keyApi), (req, res) => {
    const items = req.marketplace?.items ?? [];
    const category = typeof req.query.category === 'string' ? req.query.category : undefined;
    sendPage(req, res, shop, {
      title: category ?? 'Catalogue',
      section: 'catalogue',
      main: catalogueView({ items, category, shopName: shop.config.shopName }),
    });
  });

  app.get('/items/:id', loadItem(shop.keyApi), (req, res, next) => {
    const item = req.marketplace?.item;
    if (item === undefined) return next();
    sendPage(req, res, shop, {
      title: item.name,
      section: 'catalogue',
      main: itemView({ item, own: purchaseOf(req, item.id) }),
    });
  });
}

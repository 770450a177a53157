// A subject: two Express apps with one guarded route each. The cache of both knows every code that will come.
import express from 'express';
import { LRUCache } from 'lru-cache';
import { KeyApi, requirePurchase } from 'marketgate';
import { CUSTOMERS, purchase } from '../fixtures/catalogue.mjs';
import { listenOn } from './listen-on.mjs';

function byHand() {
  const cache = new LRUCache({ max: 5000, ttl: 300_000 });
  for (const [i, code] of CUSTOMERS.entries()) cache.set(code, purchase(i + 1));
  return (req, res, next) => {
    const found = cache.get(req.headers['x-purchase-code']);
    if (!found) return next(new Error('not a customer'));
    req.purchase = found;
    res.setHeader('Cache-Control', 'private');
    res.setHeader('Expires', '0');
    res.setHeader('Vary', 'X-Purchase-Code');
    next();
  };
}

/** @param {{ service: string }} options */
export default async function makeServer({ service }) {
  const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench' });
  await Promise.all(CUSTOMERS.map((code) => keyApi.validatePurchase(code)));
  // Two apps, so that neither looks through the routes of the other.
  const serve = (guard, itemOf) => {
    const app = express();
    app.get('/download', guard, (req, res) => res.json({ item: itemOf(req), file: 'harbour.zip' }));
    return listenOn(app, '/download');
  };
  const ours = await serve(
    requirePurchase(keyApi, { item: 1042 }),
    (req) => req.marketplace.purchase.item.id,
  );
  const theirs = await serve(byHand(), (req) => req.purchase.item.id);
  return { url: ours.url, byHandUrl: theirs.url };
}

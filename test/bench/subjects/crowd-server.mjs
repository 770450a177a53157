// A subject: an Express app behind a proxy, with a guarded route and a bare one. Its cache knows the customers.
import express from 'express';
import { KeyApi, requirePurchase } from 'marketgate';
import { CUSTOMERS } from '../fixtures/catalogue.mjs';
import { listenOn } from './listen-on.mjs';

/** @param {{ service: string }} options */
export default async function makeServer({ service }) {
  const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench' });
  await Promise.all(CUSTOMERS.map((code) => keyApi.validatePurchase(code)));
  const app = express();
  app.set('trust proxy', 'loopback');
  const send = (_req, res) => res.json({ item: 1042, file: 'harbour.zip' });
  app.get('/bare', send);
  app.get('/download', requirePurchase(keyApi, { item: 1042 }), send);
  // With 200, which the load generator expects.
  app.use((error, _req, res, _next) => {
    if (error.code !== 'service_unavailable') console.error(error);
    res.json({ refused: true });
  });
  return listenOn(app, '');
}

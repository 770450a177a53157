// A subject: an Express app with one route that shows an item, or a page of ten of the catalogue.

import express from 'express';
import { KeyApi, loadItem, loadItems } from 'marketgate';
import { item } from '../fixtures/catalogue.mjs';
import { listenOn } from './listen-on.mjs';

const shown = ({ id, name }) => ({ id, name });
const sendItem = (req, res) => res.json(shown(req.marketplace.item));
const sendPage = (req, res) => res.json(req.marketplace.items.slice(0, 10).map(shown));

/** @param {{ loads: 'item' | 'items', size?: number, isByHand?: boolean, service: string }} options */
export default async function makeServer({ loads, size, isByHand, service }) {
  const app = express();
  const middleware = isByHand ? byHand(loads, size) : await byPackage(loads, size, service);
  app.get('/items/:id', middleware, loads === 'item' ? sendItem : sendPage);
  return listenOn(app, '/items/1042');
}

/** The least: what is shown lies in a variable. */
function byHand(loads, size) {
  const items = Array.from({ length: size ?? 10 }, (_, i) => item(i + 1));
  const byId = new Map([[1042, item(1042)]]);
  return (req, _res, next) => {
    req.marketplace = loads === 'item' ? { item: byId.get(Number(req.params.id)) } : { items };
    next();
  };
}

async function byPackage(loads, size, service) {
  const keyApi = new KeyApi({ baseUrl: size ? `${service}/${size}` : service, apiKey: 'bench' });
  if (loads === 'item') await keyApi.getItem(1042);
  else await keyApi.listItems();
  return loads === 'item' ? loadItem(keyApi) : loadItems(keyApi);
}

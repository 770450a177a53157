import type { RequestHandler } from 'express';
import type { KeyApi } from '../clients/key-api.js';
import { loadInto } from './load-into.js';
import { checkKeyApi } from './purchase-lookup.js';

/**
 * Puts the whole catalogue at `req.marketplace.items` (specification: items/all); empty when the
 * service says that there is none. When it cannot be asked, the error goes to `next`.
 *
 * @throws TypeError when it is made without a KeyApi.
 */
export function loadItems(keyApi: Pick<KeyApi, 'listItems'>): RequestHandler {
  checkKeyApi<Pick<KeyApi, 'listItems'>>('loadItems', keyApi, 'listItems');
  return loadInto('items', (_req, signal) => keyApi.listItems({ signal }));
}

import type { RequestHandler } from 'express';
import type { KeyApi } from '../clients/key-api.js';
import { loadInto } from './load-into.js';
import { checkKeyApi } from './purchase-lookup.js';

/**
 * Puts the account of the api_key at `req.marketplace.account` (specification: account/details). When
 * the service cannot be asked, or does not know the key, the error goes to `next`.
 *
 * The account is the seller's own, with its balance and e-mail address: show of it what you mean to.
 *
 * @throws TypeError when it is made without a KeyApi.
 */
export function loadAccount(keyApi: Pick<KeyApi, 'getAccount'>): RequestHandler {
  checkKeyApi<Pick<KeyApi, 'getAccount'>>('loadAccount', keyApi, 'getAccount');
  return loadInto('account', async (_req, signal) => ({
    ...(await keyApi.getAccount({ signal })),
  }));
}

import type { Request } from 'express';
import type { KeyApi } from '../clients/key-api.js';
import { MarketgateError } from '../errors.js';
import { itemId } from '../model/item.js';
import { functionOf, readOptions, shaped, type Table } from '../options.js';
import { type ClientOption, clientOption } from '../web/client.js';
import type { Middleware } from './context.js';
import { middleware, VisitorCall } from './middleware.js';

/**
 * Puts the whole catalogue at `req.marketplace.items` (specification: items/all); empty when the service
 * has none. When it cannot be asked, the error goes to `next`.
 *
 * @throws TypeError when it is made without a KeyApi.
 *
 * @example
 * app.get('/', loadItems(keyApi), (req, res) => res.render('catalogue', { items: itemsOf(req) }));
 */
export function loadItems(keyApi: Pick<KeyApi, 'listItems'>): Middleware {
  shaped<Pick<KeyApi, 'listItems'>>(['listItems'], 'a KeyApi')('loadItems', 'keyApi', keyApi);
  return middleware(async ({ res, next, context }) => {
    context.items = await keyApi.listItems(new VisitorCall(res));
    next();
  });
}

/** Options of {@link loadItem}. */
export interface LoadItemOptions {
  /** The item's id: a whole number or its digits, or a promise of either. Default: the route parameter `id`. */
  id?: ((req: Request) => unknown) | undefined;
  /**
   * Who is counted by the `guessLimit` of the KeyApi where the list of items does not answer; `false` for nobody. Default:
   * as in `requirePurchase`.
   */
  client?: ClientOption;
}

const OPTIONS = {
  id: functionOf<(req: Request) => unknown>(),
  client: clientOption,
} satisfies Table<LoadItemOptions>;

/**
 * Puts one item at `req.marketplace.item` (specification: items/all, or items/item where the list does not say).
 *
 * Passes to `next`: `item_id_invalid` (400), without a request to the service; `item_not_found` (404); `too_many_attempts`
 * (429), when the client has asked for too many items that are in no list; the error when the service cannot be asked.
 *
 * @throws TypeError that names the wrong option, when it is made.
 *
 * @example
 * app.get('/items/:id', loadItem(keyApi), (req, res) => res.render('item', { item: itemOf(req) }));
 */
export function loadItem(
  keyApi: Pick<KeyApi, 'getItem'>,
  options: LoadItemOptions = {},
): Middleware {
  const { id: idOf = (req: Request) => req.params?.id, client } = readOptions(
    'loadItem',
    OPTIONS,
    options,
  );
  shaped<Pick<KeyApi, 'getItem'>>(['getItem'], 'a KeyApi')('loadItem', 'keyApi', keyApi);

  return middleware(async ({ req, res, next, context }) => {
    const id = itemId(await idOf(req));
    const item = await keyApi.getItem(id, new VisitorCall(res, client(req)));
    if (!item) {
      throw new MarketgateError(
        'item_not_found',
        'the service has no item with this id; check the link',
      );
    }
    // A shallow copy, because Express's res.render writes into its argument.
    context.item = { ...item };
    next();
  });
}

/**
 * Puts the account of the api_key at `req.marketplace.account` (specification: account/details). It is the seller's,
 * with balance and e-mail address: do not show all of it to visitors. When the service cannot be asked, or does not know
 * the key, the error goes to `next`.
 *
 * @throws TypeError when it is made without a KeyApi.
 */
export function loadAccount(keyApi: Pick<KeyApi, 'getAccount'>): Middleware {
  shaped<Pick<KeyApi, 'getAccount'>>(['getAccount'], 'a KeyApi')('loadAccount', 'keyApi', keyApi);
  return middleware(async ({ res, next, context }) => {
    context.account = { ...(await keyApi.getAccount(new VisitorCall(res))) };
    next();
  });
}

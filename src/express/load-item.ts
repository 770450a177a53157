import type { Request, RequestHandler } from 'express';
import type { KeyApi } from '../clients/key-api.js';
import { MarketgateError } from '../errors.js';
import { itemId } from '../model/item.js';
import { functionOption, knownOptions } from '../options.js';
import { loadInto } from './load-into.js';
import { checkKeyApi } from './purchase-lookup.js';

/** Options of {@link loadItem}. */
export interface LoadItemOptions {
  /** The item's id: a whole number or its digits. Default: the route parameter `id`. */
  id?: ((req: Request) => unknown) | undefined;
}

/**
 * Puts one item at `req.marketplace.item` (specification: items/item).
 *
 * To `next` go `item_id_invalid` (400), without a call; `item_not_found` (404), when the service says
 * so; and the error when it cannot be asked.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function loadItem(
  keyApi: Pick<KeyApi, 'getItem'>,
  options: LoadItemOptions = {},
): RequestHandler {
  checkKeyApi<Pick<KeyApi, 'getItem'>>('loadItem', keyApi, 'getItem');
  const given = knownOptions('loadItem', options, ['id']);
  const idOf = functionOption('loadItem', 'id', given.id) ?? ((req: Request) => req.params.id);
  return loadInto('item', async (req, signal) => {
    const item = await keyApi.getItem(itemId(idOf(req)), { signal });
    if (item === null) {
      throw new MarketgateError('item_not_found', 'the service has no item with this id');
    }
    // A copy on top: Express's res.render writes into what it is given.
    return { ...item };
  });
}

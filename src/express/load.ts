import type { Request } from 'express';
import type { KeyApi } from '../clients/key-api.js';
import { MarketgateError } from '../errors.js';
import { itemId } from '../model/item.js';
import { functionOption, knownOptions, shapedOption } from '../options.js';
import type { MarketplaceContext, Middleware } from './context.js';
import { abortOnLeave, loader } from './middleware.js';

/**
 * Makes a middleware that adds what a method of the KeyApi answers.
 * @throws TypeError unless `keyApi` has the method.
 */
function keyLoader(
  owner: string,
  keyApi: object,
  method: 'getAccount' | 'getItem' | 'listItems',
  load: (call: { signal: AbortSignal }, req: Request) => Promise<MarketplaceContext>,
): Middleware {
  shapedOption<KeyApi>(owner, 'keyApi', keyApi, [method], 'a KeyApi');
  return loader(async (req, res, context) => {
    Object.assign(context, await abortOnLeave(res, (signal) => load({ signal }, req)));
  });
}

/** What a method has answered. @throws MarketgateError when it is nothing, as of a wrapper that swallows an error. */
function answerOf<T extends object>(method: string, answer: T): T {
  if (typeof answer === 'object' && answer !== null) return answer;
  throw new MarketgateError(
    'unexpected_response',
    `${method} gave no answer; a wrapper must pass on what the KeyApi gives or throws`,
  );
}

/**
 * Puts the whole catalogue at `req.marketplace.items` (specification: items/all); empty when the service
 * has none. When it cannot be asked, the error goes to `next`.
 *
 * @throws TypeError when it is made without a KeyApi.
 */
export function loadItems(keyApi: Pick<KeyApi, 'listItems'>, ..._: never[]): Middleware {
  return keyLoader('loadItems', keyApi, 'listItems', async (call) => ({
    items: answerOf('listItems', await keyApi.listItems(call)),
  }));
}

/** Options of {@link loadItem}. */
export interface LoadItemOptions {
  /** The item's id: a whole number or its digits, or a promise of either. Default: the route parameter `id`. */
  id?: ((req: Request) => unknown) | undefined;
}

/**
 * Puts one item at `req.marketplace.item` (specification: items/item).
 *
 * Passes to `next`: `item_id_invalid` (400), without a request to the service; `item_not_found` (404), when
 * the service has none; and the error when the service cannot be asked.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function loadItem(
  keyApi: Pick<KeyApi, 'getItem'>,
  options: LoadItemOptions = {},
): Middleware {
  const given = knownOptions('loadItem', options, ['id']);
  const idOf = functionOption('loadItem', 'id', given.id) ?? ((req: Request) => req.params?.id);
  return keyLoader('loadItem', keyApi, 'getItem', async (call, req) => {
    const item = await keyApi.getItem(itemId(await idOf(req)), call);
    // A shallow copy, because Express's res.render writes into its argument.
    if (item !== null) return { item: { ...answerOf('getItem', item) } };
    throw new MarketgateError(
      'item_not_found',
      'the service has no item with this id; check the link',
    );
  });
}

/**
 * Puts the account of the api_key at `req.marketplace.account` (specification: account/details). When
 * the service cannot be asked, or does not know the key, the error goes to `next`.
 *
 * The account is the seller's, with its balance and e-mail address: do not show all of it to visitors.
 *
 * @throws TypeError when it is made without a KeyApi.
 */
export function loadAccount(keyApi: Pick<KeyApi, 'getAccount'>, ..._: never[]): Middleware {
  return keyLoader('loadAccount', keyApi, 'getAccount', async (call) => ({
    account: { ...answerOf('getAccount', await keyApi.getAccount(call)) },
  }));
}

import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import type { KeyApi } from '../clients/key-api.js';
import { asError, MarketgateError } from '../errors.js';
import { itemId } from '../model/item.js';
import { functionOption, knownOptions, shapedOption } from '../options.js';
import { contextOf, type MarketplaceContext, type Middleware } from './context.js';

/** The middleware behind every name with "load": it adds to `req.marketplace`, or hands the error on. */
export function loader(
  load: (req: Request, res: Response, context: MarketplaceContext) => Promise<void>,
): Middleware {
  return (req, res, next) => {
    const context = contextOf(req, res);
    (async () => load(req as Request, res as Response, context))().then(
      () => next(),
      (error: unknown) => next(asError(error)),
    );
  };
}

/**
 * Runs `run` with a signal that is aborted when the visitor leaves before the response has ended: a
 * request to the service that nobody waits for must not hold a connection.
 */
export async function whileThere<T>(
  res: ServerResponse,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const leaving = new AbortController();
  const onClose = (): void => {
    const left = 'the visitor left before the service had answered';
    leaving.abort(new MarketgateError('service_unavailable', left));
  };
  if (res.closed) onClose();
  // The response of a WebSocket upgrade has no events.
  else res.once?.('close', onClose);
  try {
    return await run(leaving.signal);
  } finally {
    res.off?.('close', onClose);
  }
}

/** @throws TypeError unless it is a KeyApi by its shape. */
const checkKeyApi = <K extends 'getAccount' | 'getItem' | 'listItems'>(
  owner: string,
  keyApi: Pick<KeyApi, K>,
  method: K,
): Pick<KeyApi, K> => shapedOption<Pick<KeyApi, K>>(owner, 'keyApi', keyApi, [method], 'a KeyApi');

/**
 * Puts the whole catalogue at `req.marketplace.items` (specification: items/all); empty when the service
 * has none. When it cannot be asked, the error goes to `next`.
 *
 * @throws TypeError when it is made without a KeyApi.
 */
export function loadItems(keyApi: Pick<KeyApi, 'listItems'>): Middleware {
  checkKeyApi('loadItems', keyApi, 'listItems');
  return loader(async (_req, res, context) => {
    context.items = await whileThere(res, (signal) => keyApi.listItems({ signal }));
  });
}

/** Options of {@link loadItem}. */
export interface LoadItemOptions {
  /** The item's id: a whole number or its digits. Default: the route parameter `id`. */
  id?: ((req: Request) => unknown) | undefined;
}

/**
 * Puts one item at `req.marketplace.item` (specification: items/item).
 *
 * To `next` go `item_id_invalid` (400), without a call; `item_not_found` (404), when the service has
 * none; and the error when it cannot be asked.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function loadItem(
  keyApi: Pick<KeyApi, 'getItem'>,
  options: LoadItemOptions = {},
): Middleware {
  checkKeyApi('loadItem', keyApi, 'getItem');
  const given = knownOptions('loadItem', options, ['id']);
  const idOf = functionOption('loadItem', 'id', given.id) ?? ((req: Request) => req.params?.id);
  return loader(async (req, res, context) => {
    const id = itemId(idOf(req));
    const item = await whileThere(res, (signal) => keyApi.getItem(id, { signal }));
    if (item === null) {
      throw new MarketgateError('item_not_found', 'the service has no item with this id');
    }
    // A copy on top: Express's res.render writes into what it is given.
    context.item = { ...item };
  });
}

/**
 * Puts the account of the api_key at `req.marketplace.account` (specification: account/details). When
 * the service cannot be asked, or does not know the key, the error goes to `next`.
 *
 * The account is the seller's own, with its balance and e-mail address: show of it what you mean to.
 *
 * @throws TypeError when it is made without a KeyApi.
 */
export function loadAccount(keyApi: Pick<KeyApi, 'getAccount'>): Middleware {
  checkKeyApi('loadAccount', keyApi, 'getAccount');
  return loader(async (_req, res, context) => {
    context.account = { ...(await whileThere(res, (signal) => keyApi.getAccount({ signal }))) };
  });
}

import type { Request } from 'express';
import { type GuessLimitOption, guessGate } from '../check/guess-gate.js';
import type { KeyApi } from '../clients/key-api.js';
import { MarketgateError } from '../errors.js';
import { type Item, itemId } from '../model/item.js';
import { functionOption, knownOptions, shapedOption } from '../options.js';
import type { MarketplaceContext, Middleware } from './context.js';
import { abortOnLeave, middleware } from './middleware.js';

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
  return middleware(async ({ req, res, next, context }) => {
    Object.assign(context, await abortOnLeave(res, (signal) => load({ signal }, req)));
    next();
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
  /**
   * How many failed attempts a client can make, as in `requirePurchase`, with which this shares its count: an item that
   * the service does not know is a failed attempt. What the cache answers is none. Default: 10 a minute for each client.
   */
  guessLimit?: GuessLimitOption | undefined;
}

/** As much of a {@link KeyApi} as {@link loadItem} uses. */
export type ItemSource = Pick<KeyApi, 'getItem'> & Partial<Pick<KeyApi, 'peekItem'>>;

/**
 * Puts one item at `req.marketplace.item` (specification: items/item).
 *
 * Passes to `next`: `item_id_invalid` (400), without a request to the service; `item_not_found` (404), when
 * the service has none; `too_many_attempts` (429), when the client has asked for too many items that do not exist; and
 * the error when the service cannot be asked.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function loadItem(keyApi: ItemSource, options: LoadItemOptions = {}): Middleware {
  const owner = 'loadItem';
  const given = knownOptions(owner, options, ['id', 'guessLimit']);
  shapedOption<ItemSource>(owner, 'keyApi', keyApi, ['getItem'], 'a KeyApi');
  const idOf = functionOption(owner, 'id', given.id) ?? ((req: Request) => req.params?.id);
  const gate = guessGate(owner, given.guessLimit, keyApi);

  /** Asks the service, which allows few requests: only clients that have not asked for too many unknown items. */
  const ask = (id: number, req: Request, signal: AbortSignal): Promise<Item | null> => {
    const get = (onCached?: () => void) => keyApi.getItem(id, { signal, onCached });
    return gate ? gate.attempt(gate.keyGenerator(req), get, signal) : get();
  };

  return keyLoader(owner, keyApi, 'getItem', async ({ signal }, req) => {
    const id = itemId(await idOf(req));
    const known = keyApi.peekItem?.(id);
    const item = known === undefined ? await ask(id, req, signal) : known;
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

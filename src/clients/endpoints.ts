import type { Account } from '../model/account.js';
import type { Item } from '../model/item.js';
import type { Purchase } from '../model/purchase.js';
import { isObject } from '../shape/is-object.js';
import type { Shaped } from '../shape/read-shape.js';
import type { Judging } from './load-readers.js';

/** The body of an answer: an object, as every answer of interface A is. */
export type Body = Readonly<Record<string, unknown>>;

/** One endpoint of interface A, as the specification's tables "Endpoints" and "Errors" have it. */
export interface Endpoint<T> {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Its column in the table of what answers mean. */
  readonly column: 'account' | 'keyApi';
  /** The documented `msg` of its *no*. */
  readonly no: string;
  /** Statuses that make any `msg` a *no*. */
  readonly noStatuses: readonly number[];
  /** The payload, if the body has one where this endpoint puts it. A promise where it is long. */
  readonly payload: (body: Body, reading: Judging) => Shaped<T> | Promise<Shaped<T>> | undefined;
  /** Whether an answer is about what was asked for. Default: it is. */
  isAbout?(value: T, asked: Asked): boolean;
}

/** What an endpoint takes beside the api_key. */
export interface Asked {
  readonly item_id?: string;
  readonly purchase_code?: string;
}

export const accountDetails: Endpoint<Account> = {
  method: 'GET',
  path: '/api/account/details',
  column: 'account',
  no: 'Invalid request',
  noStatuses: [401, 403, 404],
  payload: ({ data }, { readers, drift }) =>
    isObject(data) ? readers.readAccount(data, accountDetails.path, 'data', drift) : undefined,
};

export const itemsAll: Endpoint<Item[]> = {
  method: 'GET',
  path: '/api/items/all',
  column: 'keyApi',
  no: 'No items found',
  noStatuses: [404],
  payload: ({ items }, reading) => reading.readers.readItems(items, itemsAll.path, reading),
};

export const itemsItem: Endpoint<Item> = {
  method: 'GET',
  path: '/api/items/item',
  column: 'keyApi',
  no: 'Item Not Found',
  noStatuses: [404],
  payload: ({ item }, { readers, drift }) =>
    isObject(item) ? readers.readItem(item, itemsItem.path, 'item', drift) : undefined,
  isAbout: ({ id }, { item_id }) => String(id) === item_id,
};

export const purchasesValidation: Endpoint<Purchase> = {
  method: 'POST',
  path: '/api/purchases/validation',
  column: 'keyApi',
  no: 'Invalid purchase code',
  noStatuses: [404],
  payload: ({ data, item }, { readers, drift }) => {
    const documented = isObject(data) ? data.purchase : undefined;
    // Some deployments answer with the purchase under `item`.
    const [purchase, at] = isObject(documented) ? [documented, 'data.purchase'] : [item, 'item'];
    return isObject(purchase)
      ? readers.readPurchase(purchase, purchasesValidation.path, at, drift)
      : undefined;
  },
  isAbout: ({ purchase_code: code }, { purchase_code: asked = '' }) =>
    MASKED.test(code) || code.trim().toLowerCase() === asked.toLowerCase(),
};

/** A code that is shown in part names none. */
const MASKED = /[*\u2026]/;

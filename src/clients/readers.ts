import type { DriftReports } from '../diagnostics.js';
import { type Account, accountSchema } from '../model/account.js';
import { type Item, itemSchema } from '../model/item.js';
import { type Purchase, purchaseSchema } from '../model/purchase.js';
import { readShape, type Shaped } from '../shape/read-shape.js';

export { readItems } from './item-list.js';

/**
 * Reads one payload.
 * @param at where it stands in the answer, as in `data.purchase`.
 */
export type Reader<T> = (
  value: unknown,
  endpoint: string,
  at: string,
  drift: DriftReports,
) => Shaped<T>;

export const readAccount: Reader<Account> = (value, endpoint, at, drift) =>
  readShape(accountSchema, value, endpoint, at, drift) as Shaped<Account>;

export const readItem: Reader<Item> = (value, endpoint, at, drift) =>
  readShape(itemSchema, value, endpoint, at, drift) as Shaped<Item>;

export const readPurchase: Reader<Purchase> = (value, endpoint, at, drift) =>
  readShape(purchaseSchema, value, endpoint, at, drift) as Shaped<Purchase>;

import { MarketgateError } from '../errors.js';

/**
 * An item's id out of what a program or a route parameter gives: a whole number, or its digits.
 * @throws MarketgateError `item_id_invalid`. The value is not repeated: it can be anything.
 */
export function itemId(value: unknown): number {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0) {
    throw new MarketgateError(
      'item_id_invalid',
      'item_id must be a whole number, as in 1042; check the link or the value that was passed',
    );
  }
  return id;
}

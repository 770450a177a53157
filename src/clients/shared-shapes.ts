import { isObject } from '../shape/is-object.js';

const isItem = (value: unknown): boolean => isObject(value) && typeof value.id === 'number';
const isText = (value: unknown): boolean => value === undefined || typeof value === 'string';

/**
 * By kind of question, whether an answer of the shared cache can be served by this version of the
 * package. It was validated by the process that put it there, and sealed; but that may have been another
 * version, while a fleet is being updated. So only what guards and caches rest on is looked at.
 */
export const SHARED_SHAPES: Readonly<
  Record<'account' | 'item' | 'items' | 'purchase', (value: unknown) => boolean>
> = {
  account: (value) => isObject(value) && typeof value.username === 'string',
  item: isItem,
  items: (value) => Array.isArray(value) && value.every(isItem),
  purchase: (value) =>
    isObject(value) &&
    typeof value.purchase_code === 'string' &&
    isText(value.license_type) &&
    isText(value.supported_until) &&
    isItem(value.item),
};

import { purchase } from '../../fixtures/catalogue.mjs';

/** What a cache holds of each code. Wrong codes are known too: as `false`. */
export const kept = (codes) =>
  codes.map((code, i) => [code, code.startsWith('wrong') ? false : purchase(i + 1)]);

/** Nobody measured here asks the service: every code is known. */
export const missing = () => {
  throw new Error('a code was not in the cache');
};

export const itemOf = (req) => req.purchase.item.id;

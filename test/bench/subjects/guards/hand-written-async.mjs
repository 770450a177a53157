import { LRUCache } from 'lru-cache';
import { itemOf, kept, missing } from './kept.mjs';

/** The same behind a function that could ask the service, and is awaited. */
export default async ({ codes }) => {
  const cache = new LRUCache({ max: 5000, ttl: 300_000 });
  for (const [code, purchase] of kept(codes)) cache.set(code, purchase);
  const find = async (code) => cache.get(code) ?? missing();
  return {
    async middleware(req, _res, next) {
      req.purchase = await find(req.headers['x-purchase-code']);
      next();
    },
    itemOf,
  };
};

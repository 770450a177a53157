import { LRUCache } from 'lru-cache';
import { itemOf, kept, missing } from './kept.mjs';

export default async ({ codes }) => {
  const cache = new LRUCache({ max: 5000, ttl: 300_000, fetchMethod: missing });
  for (const [code, purchase] of kept(codes)) cache.set(code, purchase);
  return {
    async middleware(req, _res, next) {
      req.purchase = await cache.fetch(req.headers['x-purchase-code']);
      next();
    },
    itemOf,
  };
};

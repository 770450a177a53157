import { Cacheable } from 'cacheable';
import { itemOf, kept, missing } from './kept.mjs';

export default async ({ codes }) => {
  const cache = new Cacheable({ ttl: 300_000 });
  for (const [code, purchase] of kept(codes)) await cache.set(code, purchase);
  return {
    async middleware(req, _res, next) {
      req.purchase = await cache.getOrSet(req.headers['x-purchase-code'], missing);
      next();
    },
    itemOf,
  };
};

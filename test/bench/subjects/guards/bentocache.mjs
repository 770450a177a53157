import { BentoCache, bentostore } from 'bentocache';
import { memoryDriver } from 'bentocache/drivers/memory';
import { itemOf, kept, missing } from './kept.mjs';

export default async ({ codes }) => {
  const memory = memoryDriver({ maxItems: 5000, serialize: false });
  const cache = new BentoCache({
    default: 'memory',
    stores: { memory: bentostore().useL1Layer(memory) },
  });
  for (const [key, value] of kept(codes)) await cache.set({ key, value, ttl: '5m' });
  return {
    async middleware(req, _res, next) {
      const key = req.headers['x-purchase-code'];
      req.purchase = await cache.getOrSet({ key, factory: missing, ttl: '5m' });
      next();
    },
    itemOf,
  };
};

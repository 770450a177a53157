// A subject: 1,000 callers want one cold code at once; how long the slowest hundredth of them waits.
import { BentoCache, bentostore } from 'bentocache';
import { memoryDriver } from 'bentocache/drivers/memory';
import { Cacheable } from 'cacheable';
import { LRUCache } from 'lru-cache';
import { KeyApi } from 'marketgate';
import { Pool } from 'undici';
import { codeOf } from '../fixtures/catalogue.mjs';

const CALLERS = 1000;

/** Each makes a function of a code, over `ask`, which asks the service. */
const CACHES = {
  'in-flight map'(ask) {
    const cache = new LRUCache({ max: 5000, ttl: 300_000 });
    const underWay = new Map();
    return async (code) => {
      const kept = cache.get(code);
      if (kept !== undefined) return kept;
      let flight = underWay.get(code);
      if (flight === undefined) {
        flight = ask(code)
          .then((purchase) => {
            cache.set(code, purchase);
            return purchase;
          })
          .finally(() => underWay.delete(code));
        underWay.set(code, flight);
      }
      return flight;
    };
  },
  'lru-cache fetch'(ask) {
    const cache = new LRUCache({ max: 5000, ttl: 300_000, fetchMethod: (code) => ask(code) });
    return (code) => cache.fetch(code);
  },
  bentocache(ask) {
    const store = bentostore().useL1Layer(memoryDriver({ maxItems: 5000, serialize: false }));
    const cache = new BentoCache({ default: 'memory', stores: { memory: store } });
    return (code) => cache.getOrSet({ key: code, factory: () => ask(code), ttl: '5m' });
  },
  cacheable(ask) {
    const cache = new Cacheable({ ttl: 300_000 });
    return (code) => cache.getOrSet(code, () => ask(code));
  },
  marketgate(_ask, service) {
    const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench' });
    return (code) => keyApi.validatePurchase(code);
  },
};

/** @param {{ cache: keyof CACHES, service: string }} options */
export default async function makeStampede({ cache, service }) {
  const pool = new Pool(service, { connections: 128 });
  const ask = async (code) => {
    const { body } = await pool.request({
      method: 'POST',
      path: '/api/purchases/validation',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `api_key=bench&purchase_code=${code}`,
    });
    return JSON.parse(await body.text()).data.purchase;
  };
  const find = CACHES[cache](ask, service);

  return {
    /** Milliseconds that 99 of 100 callers wait at most. */
    async p99(number) {
      const begun = performance.now();
      const waits = await Promise.all(
        Array.from({ length: CALLERS }, async () => {
          const purchase = await find(codeOf(number));
          if (purchase.item.id !== 1042) throw new Error('another purchase');
          return performance.now() - begun;
        }),
      );
      return waits.sort((a, b) => a - b)[Math.ceil(CALLERS * 0.99) - 1];
    },
  };
}

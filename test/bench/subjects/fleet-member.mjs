// A subject: one process of a fleet, whose customers come to a guard by themselves.
import { setTimeout as wait } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { KeyApi, requirePurchase } from 'marketgate';
import { RedisCache } from 'marketgate/redis';
import { codeOf } from '../fixtures/catalogue.mjs';
import { res } from './response.mjs';

/** How often the codes come: the n-th a n-th as often as the first. */
function zipf(codes) {
  const sums = new Float64Array(codes);
  let sum = 0;
  for (let i = 0; i < codes; i++) sums[i] = sum += 1 / (i + 1);
  return () => {
    const wanted = Math.random() * sum;
    let [low, high] = [0, codes - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** @param {{ service: string, redis?: string, codes: number, ttl: number }} options */
export default async function makeMember({ service, redis, codes, ttl }) {
  const client = redis && (await createClient({ url: redis }).connect());
  const subscriber = client && (await client.duplicate().connect());
  const shared = client && new RedisCache({ client, subscriber });
  const cache = { max: codes, ttl, shared };
  const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench', cache });
  const guard = requirePurchase(keyApi, { item: 1042 });
  const pick = zipf(codes);
  let failed = 0;
  /** Each customer has an address of their own. */
  const visit = (number) =>
    new Promise((resolve) => {
      const begun = performance.now();
      const ip = `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
      const next = (error) => {
        if (error) failed++;
        resolve(performance.now() - begun);
      };
      guard({ headers: { 'x-purchase-code': codeOf(number) }, ip }, res, next);
    });
  return {
    /** So many customers a second until a moment; how long each waited, in milliseconds, and how many failed. */
    async serve({ perSecond, until }) {
      const waits = [];
      const begun = Date.now();
      while (Date.now() < until) {
        const due = ((Date.now() - begun) * perSecond) / 1000;
        while (waits.length < due) waits.push(visit(pick()));
        await wait(5);
      }
      return { waits: await Promise.all(waits), failed };
    },
  };
}

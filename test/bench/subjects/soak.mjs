// A subject: a process that serves for long; how much it holds after each turn.
import { readdirSync, readlinkSync } from 'node:fs';
import { createClient } from '@redis/client';
import { KeyApi, requirePurchase } from 'marketgate';
import { RedisCache } from 'marketgate/redis';
import { codeOf } from '../fixtures/catalogue.mjs';
import { atATime } from './at-a-time.mjs';
import { CODES } from './guard-server.mjs';
import { res } from './response.mjs';

/** The service refunds the codes from here on after their first answer. */
const REFUNDED = 0xf00000000000;

/** Also idle ones, which Node.js does not list among its handles. Linux only. */
const countSockets = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
    } catch {
      // The descriptor of this look itself.
      return false;
    }
  }).length;

/** @param {{ service: string, redis: string }} options */
export default async function makeProcess({ service, redis }) {
  const client = await createClient({ url: redis }).connect();
  // Small and short, so that everything is full, stale and expired many times.
  const shared = new RedisCache({ client, subscriber: await client.duplicate().connect() });
  const ages = { ttl: 2000, staleWhileRevalidate: 2000, staleIfError: 20_000, invalidTtl: 2000 };
  const cache = { ...ages, max: 1000, maxInvalid: 200, shared };
  const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench', cache });
  const guard = requirePurchase(keyApi, { item: 1042 });
  const counts = { passed: 0, purchase_code_invalid: 0, service_unavailable: 0 };
  let last = 1000;

  /** Each visitor has an address of their own. */
  const visit = (code) =>
    new Promise((resolve) => {
      const number = last++;
      const ip = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
      guard({ headers: { 'x-purchase-code': code }, ip }, res, (error) => {
        const how = error?.code ?? (error ? 'other' : 'passed');
        counts[how] = (counts[how] ?? 0) + 1;
        resolve();
      });
    });
  /** Half are known; of the others, one in 25 is refunded, and one in 25 is wrong. */
  const once = async (i) => {
    if (i % 2 === 0) return visit(CODES[(i / 2) % CODES.length]);
    if (i % 50 === 1) {
      const code = codeOf(REFUNDED + last);
      await visit(code);
      // As a shop does that hears of the refund.
      await keyApi.invalidate(code).catch(() => {});
      return visit(code);
    }
    return visit(i % 50 === 3 ? `wrong-code-${last}` : codeOf(last));
  };

  return {
    work: atATime(50, once),
    /** As many failed attempts as the guess limit remembers, and more invalidations than the cache does. */
    fill: () => atATime(50, () => visit(`wrong-code-${last}`))(12_000),
    async hold() {
      for (let i = 0; i < 3; i++) {
        globalThis.gc();
        await new Promise(setImmediate);
      }
      const { heapUsed, external } = process.memoryUsage();
      const handles = process.getActiveResourcesInfo().length;
      return { heap: heapUsed + external, handles, sockets: countSockets(), ...counts };
    },
    /** Waits until calls reach the service again: the breaker rests for seconds. */
    async recover() {
      const isBack = () =>
        keyApi.validatePurchase(codeOf(last++), { fresh: true }).then(
          () => true,
          () => false,
        );
      while (!(await isBack())) await new Promise((resolve) => setTimeout(resolve, 100));
    },
  };
}

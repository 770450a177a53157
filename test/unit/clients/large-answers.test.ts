import type { KeyApi } from 'marketgate';
import { expect, it } from 'vitest';
import { KeyApiService } from '../../support/key-api-service.js';
import { text } from '../../support/service-in-memory.js';
import { account, CODE, item, purchase } from '../../support/wire.js';

const MANY = 40_000;
const objects = (many: number) => Array(many).fill({});
const named = (many: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: many }, (_, i) => [`k${i}`, value]));
const { profile } = account;
const getAccount = (keyApi: KeyApi) => keyApi.getAccount();
const listItems = (keyApi: KeyApi) => keyApi.listItems();
const validate = (keyApi: KeyApi) => keyApi.validatePurchase(CODE);

/**
 * Milliseconds of CPU of a call, which do not depend on what else the machine does: the best of three, because a collection
 * of garbage can come in between.
 */
async function timeOf(body: object, call: (keyApi: KeyApi) => Promise<unknown>): Promise<number> {
  const answer = text(JSON.stringify(body));
  const times: number[] = [];
  for (let i = 0; i < 3; i++) {
    const keyApi = new KeyApiService({ override: () => answer }).client();
    const begun = process.cpuUsage();
    await call(keyApi).catch(() => undefined);
    const { user, system } = process.cpuUsage(begun);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

// biome-ignore format: a table is read by its columns
it.each<[string, (many: number) => object, (keyApi: KeyApi) => Promise<unknown>]>([
  ['unknown fields', (many) => ({ data: { purchase: { ...purchase, ...named(many, 0) } } }), validate],
  ['tags that are none', (many) => ({ data: { purchase: { ...purchase, item: { ...item, tags: objects(many) } } } }), validate],
  ['links that are none', (many) => ({ data: { ...account, profile: { ...profile, social_links: named(many, {}) } } }), getAccount],
  ['items that are none', (many) => ({ items: objects(many) }), listItems],
])('the time that an answer with many %s takes grows with their number, and not with its square', async (_what, bodyOf, call) => {
  const few = await timeOf(bodyOf(MANY / 20), call);
  const many = await timeOf(bodyOf(MANY), call);
  // 20 would be in proportion, and 400 the square.
  expect(many / few).toBeLessThan(100);
});

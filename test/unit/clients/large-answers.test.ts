import type { KeyApi } from 'marketgate';
import { expect, it } from 'vitest';
import { KeyApiService } from '../../support/key-api-service.js';
import { text } from '../../support/service-in-memory.js';
import { account, CODE, item, purchase } from '../../support/wire.js';

const MANY = 100_000;
const objects = Array(MANY).fill({});
const named = (value: unknown) =>
  Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`k${i}`, value]));
const { profile } = account;
const getAccount = (keyApi: KeyApi) => keyApi.getAccount();
const listItems = (keyApi: KeyApi) => keyApi.listItems();
const validate = (keyApi: KeyApi) => keyApi.validatePurchase(CODE);

// The best of three, because a collection of garbage can come in between.
// biome-ignore format: a table is read by its columns
it.each<[string, object, (keyApi: KeyApi) => Promise<unknown>]>([
  ['unknown fields', { data: { purchase: { ...purchase, ...named(0) } } }, validate],
  ['tags that are none', { data: { purchase: { ...purchase, item: { ...item, tags: objects } } } }, validate],
  ['links that are none', { data: { ...account, profile: { ...profile, social_links: named({}) } } }, getAccount],
  ['items that are none', { items: objects }, listItems],
])(`an answer with ${MANY} %s takes a small multiple of the time that its JSON takes to parse`, async (_what, body, call) => {
  const sent = JSON.stringify(body);
  const answer = text(sent);
  const multiples: number[] = [];
  for (let i = 0; i < 3; i++) {
    const keyApi = new KeyApiService({ override: () => answer }).client();
    const begun = performance.now();
    JSON.parse(sent);
    const parsed = performance.now();
    await call(keyApi).catch(() => undefined);
    multiples.push((performance.now() - parsed) / (parsed - begun));
  }
  // A busy machine doubles it; what grows by the square is in the thousands.
  expect(Math.min(...multiples)).toBeLessThan(50);
}, 60_000);

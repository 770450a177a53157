// A subject: the guard alone, called as Express calls it, for codes that the cache knows.
import { subscribe } from 'node:diagnostics_channel';
import { pathToFileURL } from 'node:url';
import { CODES } from './guard-server.mjs';
import { res } from './response.mjs';

let heard = 0;

/** @param {{ entry: string, service: string, isHeard?: boolean, isHeld?: boolean }} options */
export default async function makeGuarded({ entry, service, isHeard = false, isHeld = false }) {
  const { KeyApi, requirePurchase } = await import(pathToFileURL(entry).href);
  const keyApi = new KeyApi({ baseUrl: service, apiKey: 'bench' });
  await Promise.all(CODES.map((code) => keyApi.validatePurchase(code)));
  if (isHeard) {
    for (const name of ['lookup', 'guard']) subscribe(`marketgate:${name}`, () => heard++);
  }
  const store = { take: async () => true, release: async () => {}, holders: async () => [] };
  const holder = { store, id: (req) => req.user.id };
  const guard = requirePurchase(keyApi, { item: 1042, ...(isHeld && { holder }) });
  let passed = 0;
  const next = (error) => {
    if (error === undefined) passed++;
  };
  const visit = (number) => {
    const code = CODES[number % CODES.length];
    guard({ headers: { 'x-purchase-code': code }, user: { id: code } }, res, next);
  };
  if (isHeld) {
    for (let i = 0; i < CODES.length; i++) visit(i);
    await new Promise(setImmediate);
    passed = 0;
  }
  return {
    work(calls) {
      const before = passed;
      for (let i = 0; i < calls; i++) visit(i);
      // In the same turn: a hit waits for nothing.
      if (passed - before !== calls) throw new Error('not everybody was let in');
      if (isHeard !== heard > 0) throw new Error('not heard as it should be');
    },
    answer: () => true,
  };
}

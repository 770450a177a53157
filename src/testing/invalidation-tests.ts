import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { SharedCache } from '../cache/shared-cache.js';
import type { AddCacheTest } from './shared-cache-setup.js';

/** How long a message may take, in milliseconds. */
const LATEST = 3000;

type Heard = (string | undefined)[];

/** That what one publishes all hear. Nothing is tested where a cache has no messages, as it may. */
export function addInvalidationTests(add: AddCacheTest): void {
  const addMessages = (
    name: string,
    test: (cache: Required<Messages>, peer: Required<Messages>) => Promise<void>,
  ) =>
    add(`${name} (if it has subscribe and publish)`, async (cache, peer) => {
      const has = [cache.subscribe, cache.publish].filter((method) => method !== undefined).length;
      if (has === 0) return;
      assert.equal(has, 2, 'subscribe without publish is of no use, nor the other way round');
      await test(messagesOf(cache), messagesOf(peer));
    });

  addMessages('tells every process which key to forget', async (cache, peer) => {
    const [here, there]: [Heard, Heard] = [[], []];
    const ends = [
      await cache.subscribe((key) => here.push(key)),
      await peer.subscribe((key) => there.push(key)),
    ];
    const key = randomUUID();
    await cache.publish(key);
    await hears(there, key, 'another process must hear the key');
    await hears(here, key, 'the publisher itself must hear the key');
    for (const end of ends) await end();
  });

  addMessages('tells undefined for all keys, as undefined', async (cache, peer) => {
    const heard: Heard = [];
    const end = await peer.subscribe((key) => heard.push(key));
    await cache.publish(undefined);
    await hears(heard, undefined, 'publish(undefined) must be heard as undefined');
    await end();
  });

  addMessages('tells nothing more after the end', async (cache, peer) => {
    const [ended, going]: [Heard, Heard] = [[], []];
    const end = await peer.subscribe((key) => ended.push(key));
    const endOther = await peer.subscribe((key) => going.push(key));
    await end();
    const key = randomUUID();
    await cache.publish(key);
    await hears(going, key, 'the end of one subscription must not end another');
    assert.ok(!ended.includes(key), 'a subscription that was ended must not hear anything');
    await endOther();
  });
}

type Messages = Pick<SharedCache, 'subscribe' | 'publish'>;

function messagesOf(cache: SharedCache): Required<Messages> {
  const { subscribe, publish } = cache;
  assert.ok(subscribe && publish, 'a peer must have subscribe and publish as well');
  return { subscribe: subscribe.bind(cache), publish: publish.bind(cache) };
}

async function hears(heard: Heard, key: string | undefined, complaint: string): Promise<void> {
  const last = performance.now() + LATEST;
  while (!heard.includes(key)) {
    assert.ok(performance.now() < last, complaint);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

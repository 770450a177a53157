import { RedisCache } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { redisIsMissing, SOON } from '../../support/redis-server.js';
import { expectStoresToWork } from './support/every-store.js';
import { startSentinel } from './support/sentinel.js';

describe.skipIf(redisIsMissing())('with a sentinel', () => {
  let sentinel: Awaited<ReturnType<typeof startSentinel>>;
  beforeAll(async () => {
    sentinel = await startSentinel();
  });
  afterAll(() => sentinel?.stop());

  it.each(['node-redis', 'ioredis'] as const)(
    'of %s every store works, and a subscription reports the loss of its connection',
    async (library) => {
      const { server, open } = sentinel;
      const [here, there] = await Promise.all([open[library](), open[library]()]);
      onTestFinished(() => {
        for (const { close } of [here, there]) close();
      });
      await expectStoresToWork(here, there);

      const cache = new RedisCache({ client: here.client, subscriber: here.subscriber });
      const events: (string | boolean)[] = [];
      const end = await cache.subscribe(
        (message) => events.push(message),
        (isListening) => {
          if (isListening !== events.at(-1)) events.push(isListening);
        },
      );
      const happens = (...expected: typeof events) =>
        vi.waitFor(() => expect(events).toEqual(expected), SOON);
      await happens(false, true);
      await server.kill();
      await happens(false, true, false);
      await server.restart();
      await happens(false, true, false, true);
      await cache.publish('after');
      await happens(false, true, false, true, 'after');
      await end();
    },
  );
});

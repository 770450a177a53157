import { randomUUID } from 'node:crypto';
import { RedisCache } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { describeSharedCache } from '../../support/describe-shared-cache.js';
import { redisIsMissing, SOON } from '../../support/redis-server.js';
import { startSentinel } from './support/sentinel.js';

const LIBRARIES = ['node-redis', 'ioredis'] as const;
type Sentinel = Awaited<ReturnType<typeof startSentinel>>;

describe.skipIf(redisIsMissing()).each(LIBRARIES)('with a sentinel of %s', (library) => {
  const prefix = `${randomUUID()}:`;
  let sentinel: Sentinel;
  let here: Awaited<ReturnType<Sentinel['clients'][typeof library]>>;
  let there: typeof here;
  beforeAll(async () => {
    sentinel = await startSentinel();
    [here, there] = await Promise.all([sentinel.clients[library](), sentinel.clients[library]()]);
  });
  afterAll(async () => {
    await here?.close();
    await there?.close();
    await sentinel?.stop();
  });

  const cacheOf = ({ client, subscriber }: typeof here) =>
    new RedisCache({ client, subscriber, prefix });
  describeSharedCache('RedisCache', () => ({
    cache: cacheOf(here),
    peer: cacheOf(there),
    advance: (milliseconds) => sentinel.server.pass(milliseconds),
  }));

  it('a subscription reports the loss of its connection, and receives again', async () => {
    const cache = cacheOf(here);
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
    await sentinel.server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await happens(false, true, false, true);
    await cache.publish('after');
    await happens(false, true, false, true, 'after');
    events.length = 0;
    await sentinel.server.kill();
    await happens(false);
    await sentinel.server.restart();
    await happens(false, true);
    await end();
  });
});

import { expect, it } from 'vitest';
import { redisIsMissing, sharedRedis } from '../../support/redis-server.js';
import { runFixture } from '../run-fixture.js';

it.skipIf(redisIsMissing())(
  'a process whose Redis clients are closed, but neither its KeyApis nor its subscriptions, exits',
  async () => {
    const { url } = await sharedRedis();
    const program = new URL('./fixtures/closed-client.js', import.meta.url);
    // It would stay for ever, but for the timeout.
    const ended = await runFixture(program, [], [url]);
    const stdout = 'redis: service_unavailable, done\nioredis: service_unavailable, done\n';
    expect(ended).toMatchObject({ code: 0, stdout });
  },
);

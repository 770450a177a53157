import { describe, expect, it } from 'vitest';
import { redisIsMissing, sharedRedis } from '../../support/redis-server.js';
import { runFixture } from '../run-fixture.js';

describe.skipIf(redisIsMissing())(
  'a process whose Redis client is closed, but neither its KeyApi nor its subscription',
  () => {
    it.concurrent.each(['redis', 'ioredis'])('exits (%s)', async (library) => {
      const { url } = await sharedRedis();
      const program = new URL('./fixtures/closed-client.js', import.meta.url);
      // It would stay for ever, but for the timeout.
      const ended = await runFixture(program, [], [library, url]);
      expect(ended).toMatchObject({ code: 0, stdout: 'service_unavailable\ndone\n' });
    });
  },
);

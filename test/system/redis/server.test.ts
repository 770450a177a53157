import { describe, expect, it, onTestFinished } from 'vitest';
import { RedisServer, redisIsMissing } from '../../support/redis-server.js';

describe.skipIf(redisIsMissing())('a server of the tests', () => {
  it('that ends before it is ready fails at once, with what it printed', async () => {
    const server = new RedisServer(0, undefined, 'no-such-policy');
    onTestFinished(() => server.stop());
    await expect(server.restart()).rejects.toThrow(/did not start: [\s\S]*no-such-policy/);
  });
});

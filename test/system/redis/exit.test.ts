import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { redisIsMissing, sharedRedis } from '../../support/redis-server.js';

const FIXTURE = fileURLToPath(new URL('./fixtures/closed-client.js', import.meta.url));
// Next to the built package, where its imports are found.
const PROGRAM = join(inject('builtPackage'), 'closed-client.js');

beforeAll(() => copyFileSync(FIXTURE, PROGRAM));

describe.skipIf(redisIsMissing())(
  'a process whose Redis client is closed, but not its KeyApi',
  () => {
    it.each(['redis', 'ioredis'])('exits (%s)', async (library) => {
      const { url } = await sharedRedis();
      const ended = await new Promise((resolve) => {
        // It would stay for ever: the limit is only for that.
        const limit = { timeout: 50_000, killSignal: 'SIGKILL' as const };
        execFile(process.execPath, [PROGRAM, library, url], limit, (error, out) =>
          resolve({ signal: error?.signal ?? null, out }),
        );
      });
      expect(ended).toEqual({ signal: null, out: 'service_unavailable\ndone\n' });
    });
  },
);

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { runProgram } from '../../package/run-program.js';
import { redisIsMissing, sharedRedis } from '../../support/redis-server.js';

const FIXTURE = fileURLToPath(new URL('./fixtures/closed-client.js', import.meta.url));
// Next to the built package, where its imports are found.
const FOLDER = inject('builtPackage');
const PROGRAM = join(FOLDER, 'closed-client.js');

beforeAll(() => copyFileSync(FIXTURE, PROGRAM));

describe.skipIf(redisIsMissing())(
  'a process whose Redis client is closed, but not its KeyApi',
  () => {
    it.each(['redis', 'ioredis'])('exits (%s)', async (library) => {
      const { url } = await sharedRedis();
      // It would stay for ever, but for the timeout.
      const ended = await runProgram(process.execPath, [PROGRAM, library, url], { cwd: FOLDER });
      expect(ended).toMatchObject({ code: 0, stdout: 'service_unavailable\ndone\n' });
    });
  },
);

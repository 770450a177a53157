import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { createSentinel } from 'redis';
import { startRedis } from '../../../support/redis-server.js';
import { ioRedis, nodeRedis } from './clients.js';

const NAME = 'shop';

/** A server that a sentinel watches. It has no replica, so nothing takes over for it. */
export async function startSentinel() {
  const [server, own] = await Promise.all([startRedis(), startRedis()]);
  // A free port of the same range.
  const { port } = own;
  await own.stop();
  const folder = mkdtempSync(join(tmpdir(), 'marketgate-sentinel-'));
  const file = join(folder, 'conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${server.port} 1`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  // It ends with its stdin, which ends with this process.
  const program = 'redis-server "$0" --sentinel & cat >/dev/null; kill -9 $!';
  const child = spawn('sh', ['-c', program, file], { stdio: ['pipe', 'ignore', 'ignore'] });
  const sentinelRootNodes = [{ host: '127.0.0.1', port }];
  // It connects again and again until the sentinel has started.
  const probe = new Redis(port, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  await probe.on('error', () => {}).ping();
  probe.disconnect();
  return {
    server,
    /** Opens clients of each library. */
    open: {
      'node-redis': () => nodeRedis(createSentinel({ name: NAME, sentinelRootNodes })),
      ioredis: () =>
        ioRedis(
          () => new Redis({ name: NAME, sentinels: sentinelRootNodes, autoResubscribe: false }),
        ),
    },
    async stop() {
      child.stdin.end();
      await once(child, 'exit');
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

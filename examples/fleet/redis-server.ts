import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { ConfigError } from './config.js';

/** The Redis of the fleet. */
export interface FoundRedis {
  readonly url: string;
  /** For people; without a password that may be in the URL. */
  readonly what: string;
  /** Ends it, if it was started here. */
  stop(): Promise<void>;
}

/**
 * The Redis of REDIS_URL; else one of our own, which keeps nothing when it ends.
 * @throws ConfigError that says how to get one.
 */
export async function findRedis(url: string | undefined): Promise<FoundRedis> {
  if (url !== undefined) return { url, what: 'the one of REDIS_URL', stop: async () => {} };
  const port = await freePort();
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', tmpdir()];
  const child = spawn('redis-server', args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Ctrl-C goes to the whole group; Redis must outlive the answers that are under way.
    detached: true,
  });
  await started(child);
  // Also when this process ends by an error.
  process.once('exit', () => child.kill('SIGKILL'));
  return {
    url: `redis://127.0.0.1:${port}`,
    what: `our own, at port ${port}`,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill();
      await once(child, 'exit');
    },
  };
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    child.stdout?.on('data', (chunk) => {
      log += chunk;
      if (log.includes('Ready to accept connections')) resolve();
    });
    child.once('error', () =>
      reject(
        new ConfigError(
          'A fleet needs a Redis. Set REDIS_URL, or put redis-server on the PATH:\n' +
            '    apt-get install redis-server      (Debian, Ubuntu)\n' +
            '    brew install redis                (macOS)\n' +
            '    docker run -p 6379:6379 redis     (then REDIS_URL=redis://localhost:6379)',
        ),
      ),
    );
    child.once('exit', () => reject(new ConfigError(`redis-server did not start:\n${log}`)));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

import { connect } from 'node:net';
import type { Report } from './doctor.js';
import type { Settings } from './settings.js';

const LONGEST = 3000;

/** Whether something listens where Redis should: no client is needed for that, or need be installed. */
export async function checkRedis({ redisUrl }: Settings, report: Report): Promise<void> {
  if (redisUrl === undefined) {
    report('redis', 'skipped', 'not set up: fine for one process');
    return;
  }
  const url = URL.canParse(redisUrl) ? new URL(redisUrl) : undefined;
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol)) {
    report('redis', 'wrong', 'REDIS_URL must be a redis: or rediss: URL');
    return;
  }
  const problem = await reach(url.hostname, Number(url.port) || 6379);
  if (problem === undefined) report('redis', 'ok', `${url.host} accepts connections`);
  else report('redis', 'wrong', `${url.host}: ${problem}`);
}

function reach(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: host.replace(/^\[|\]$/g, ''), port, timeout: LONGEST });
    const end = (problem: string | undefined): void => {
      socket.destroy();
      resolve(problem);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end(`no answer within ${LONGEST / 1000} s`));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => end(code ?? 'no connection'));
  });
}

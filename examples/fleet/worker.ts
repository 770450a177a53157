import { createServer, type Server } from 'node:http';
import { KeyApi, LoginApi } from 'marketgate';
import { RedisCache } from 'marketgate/redis';
import { createApp } from './app.js';
import type { WorkerConfig } from './config.js';
import { type ToWorker, tellPrimary, type WorkerTally } from './messages.js';
import { connectRedis } from './redis-clients.js';
import { countUpstreamCalls } from './upstream-calls.js';

/** How long answers under way may take to finish, in milliseconds. */
const PATIENCE = 5000;

/** One of several processes behind the one port. All of them are alike. */
export async function runWorker(): Promise<void> {
  // Ctrl-C reaches every process of the group; only the primary decides what it means.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  const waiting = new Map<number, (tally: WorkerTally[]) => void>();
  let stop = (): void => process.exit();

  process.on('message', (message: ToWorker) => {
    if (message.kind === 'start') {
      serve(message.config, askTally).then(
        (end) => {
          stop = end;
        },
        (error: Error) => {
          tellPrimary({ kind: 'failed', message: error.message });
          process.exitCode = 1;
          process.disconnect();
        },
      );
    } else if (message.kind === 'tally') {
      waiting.get(message.id)?.(message.tally);
      waiting.delete(message.id);
    } else stop();
  });

  // Not before there is somebody to hear the answer.
  tellPrimary({ kind: 'ready' });

  let last = 0;
  const askTally = (): Promise<WorkerTally[]> =>
    new Promise((resolve) => {
      waiting.set(++last, resolve);
      tellPrimary({ kind: 'tally', id: last });
    });
}

/** @returns what ends the worker in good order. */
async function serve(
  config: WorkerConfig,
  askTally: () => Promise<WorkerTally[]>,
): Promise<() => void> {
  const { baseUrl, apiKey, authUrl, appId, appSecret } = config.service;
  const client = await connectRedis(config.redisUrl);
  const keyApi = new KeyApi({ baseUrl, apiKey, cache: { shared: new RedisCache({ client }) } });
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  countUpstreamCalls((what) => tellPrimary({ kind: 'asked', what }));

  const app = createApp(config, { keyApi, loginApi, client, askTally });
  const server = createServer(app);
  server.on('request', (_req, res) => res.once('finish', () => tellPrimary({ kind: 'answered' })));
  await listen(server, config);

  return () => {
    const cut = setTimeout(() => server.closeAllConnections(), PATIENCE);
    server.close(() => {
      clearTimeout(cut);
      const closed = Promise.allSettled([keyApi.close(), loginApi.close()]);
      void closed.then(() => {
        client.destroy();
        process.disconnect();
      });
    });
    server.closeIdleConnections();
  };
}

function listen(server: Server, { port, host }: WorkerConfig): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE';
      reject(isTaken ? new Error(`Port ${port} is taken. Set PORT to another.`) : error);
    });
    // Port 0 is the same for all workers: the primary finds one, once.
    server.listen(port, host, resolve);
  });
}

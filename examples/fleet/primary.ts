import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { type Config, readConfig, type ServiceConfig, type WorkerConfig } from './config.js';
import type { ToPrimary, ToWorker } from './messages.js';
import { findRedis } from './redis-server.js';
import { startMessage } from './start-message.js';
import { Tally } from './tally.js';

/** Serves nobody itself: starts Redis, the sandbox and the workers, replaces workers, and counts. */
export async function runPrimary(): Promise<void> {
  const config = readConfig(process.env);
  const redis = await findRedis(config.redisUrl);
  const { service, sandbox } = await findService(config);
  const tally = new Tally();
  const forWorkers: WorkerConfig = { ...config, redisUrl: redis.url, service };
  const serving = new Set<Worker>();
  let isStopping = false;

  const end = async (code: number) => {
    if (isStopping) return;
    isStopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    const gone = workers.map((worker) => once(worker, 'exit'));
    for (const worker of workers) {
      if (serving.has(worker)) tell(worker, { kind: 'stop' });
      else worker.process.kill('SIGKILL');
    }
    await Promise.all(gone);
    await Promise.all([sandbox?.close(), redis.stop()]);
    process.exitCode = code;
  };
  // More than once, for a terminal and what starts this program may both send it.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void end(0));

  const start = () => {
    const worker = cluster.fork();
    worker.once('listening', () => serving.add(worker));
    worker.on('message', (message: ToPrimary) => {
      if (message.kind === 'ready') tell(worker, { kind: 'start', config: forWorkers });
      else if (message.kind === 'failed') console.error(`\n  ${message.message}\n`);
      else if (message.kind === 'tally') {
        tell(worker, { kind: 'tally', id: message.id, tally: tally.all });
      } else tally.note(worker, message);
    });
    worker.once('exit', (code, signal) => {
      tally.forget(worker);
      if (isStopping) return;
      console.log(`worker ${worker.id} ended (${signal ?? code})`);
      // One that never served would not do better the next time.
      if (serving.delete(worker)) void start();
      else void end(1);
    });
    return once(worker, 'listening') as Promise<[{ port: number }]>;
  };

  const [[{ port }]] = (await Promise.all(Array.from({ length: config.workers }, start))) as [
    [{ port: number }],
  ];
  const origin = `http://localhost:${port}`;
  // With a real marketplace, its operator registers it with the app.
  if (sandbox) sandbox.redirectUrl = `${origin}/callback`;
  const codes = sandbox?.codes ?? [];
  console.log(startMessage({ origin, redis: redis.what, workers: config.workers, codes }));
}

const tell = (worker: Worker, message: ToWorker): void => {
  if (worker.isConnected()) worker.send(message);
};

/** The real marketplace, or a sandbox in this process, which all workers ask. */
async function findService({ service }: Config) {
  if (service !== undefined) return { service, sandbox: undefined };
  // Loaded only here: an app in production carries no sandbox around.
  const { createSandbox } = await import('marketgate/sandbox');
  const sandbox = createSandbox();
  const { baseUrl, authUrl, apiKey, appId, appSecret } = await sandbox.listen();
  const started: ServiceConfig = { baseUrl, authUrl, apiKey, appId, appSecret };
  return { service: started, sandbox };
}

import cluster from 'node:cluster';
import { once } from 'node:events';
import { createSandbox } from 'marketgate/sandbox';
import { runWorker } from './worker.js';

// node:cluster starts its workers with the same file.
if (cluster.isPrimary) await runPrimary();
else await runWorker();

/** Starts the workers, replaces those that die, and serves no visitors itself. */
async function runPrimary(): Promise<void> {
  const { PORT = '3000', WORKERS = '4', REDIS_URL = 'redis://127.0.0.1:6379' } = process.env;
  if (!(Number(PORT) >= 0 && Number(PORT) < 65_536)) {
    console.error('PORT must be a number from 0 to 65535.');
    process.exit(1);
  }
  const sandbox = createSandbox();
  const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen();
  const env = {
    ...{ PORT, REDIS_URL },
    MARKETPLACE_BASE_URL: baseUrl,
    MARKETPLACE_API_KEY: apiKey,
    MARKETPLACE_AUTH_URL: authUrl,
    MARKETPLACE_APP_ID: appId,
    MARKETPLACE_APP_SECRET: appSecret,
  };
  let isStopping = false;

  const start = async (): Promise<number> => {
    const worker = cluster.fork(env);
    let port = 0;
    worker.once('exit', (code, signal) => {
      if (isStopping) return;
      console.log(`worker ${worker.process.pid} ended (${signal ?? code})`);
      // A worker that never listened would fail again.
      if (port > 0) void start();
      else stop(1);
    });
    [{ port }] = (await once(worker, 'listening')) as [{ port: number }];
    return port;
  };

  const stop = (code = 0): void => {
    if (isStopping) return;
    isStopping = true;
    process.exitCode = code;
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill();
    void sandbox.close();
  };
  process.on('SIGINT', () => stop()).on('SIGTERM', () => stop());

  const [port] = await Promise.all(Array.from({ length: Number(WORKERS) }, start));
  const origin = `http://localhost:${port}`;
  sandbox.redirectUrl = `${origin}/callback`;
  const [code] = sandbox.codes;
  console.log(`${WORKERS} workers serve ${origin}/items/${code?.item_id}/download

  One code, many times, one request to the marketplace:
  for i in $(seq 20); do
    curl -s -H 'X-Purchase-Code: ${code?.code}' ${origin}/items/${code?.item_id}/download
  done; curl -s ${origin}/fleet
`);
}

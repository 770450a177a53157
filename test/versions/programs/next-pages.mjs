import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import next from 'next';
import { runShop } from './run-shop.mjs';
import { listen } from './shop.mjs';

// Next builds the routes of `next/pages/api` by itself, as for production.
runShop(async ({ services }) => {
  process.env.SERVICES = JSON.stringify(services);
  process.env.NEXT_TELEMETRY_DISABLED = '1';
  const dir = fileURLToPath(new URL('./next', import.meta.url));
  const cli = fileURLToPath(new URL('../node_modules/next/dist/bin/next', import.meta.url));
  execFileSync(process.execPath, [cli, 'build', dir], { stdio: ['ignore', 'ignore', 'inherit'] });
  const app = next({ dir, quiet: true });
  await app.prepare();
  const handle = app.getRequestHandler();
  const { port, close } = await listen((req, res) => {
    req.url = `/api${req.url}`;
    handle(req, res);
  });
  return { port, close: () => Promise.all([app.close(), close()]) };
});

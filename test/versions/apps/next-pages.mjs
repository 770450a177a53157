import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import next from 'next';
import { listening, runShop } from './shop.mjs';

// Next builds the routes of `next/pages/api` by itself, as for production.
runShop(async ({ services, cookieSecret }) => {
  const { baseUrl, authUrl, apiKey, appId, appSecret } = services;
  Object.assign(process.env, {
    ...{ BASE_URL: baseUrl, AUTH_URL: authUrl, API_KEY: apiKey, COOKIE_SECRET: cookieSecret },
    ...{ APP_ID: appId, APP_SECRET: appSecret, NEXT_TELEMETRY_DISABLED: '1' },
  });
  const dir = fileURLToPath(new URL('./next', import.meta.url));
  const cli = fileURLToPath(new URL('../node_modules/next/dist/bin/next', import.meta.url));
  execFileSync(process.execPath, [cli, 'build', dir], { stdio: ['ignore', 'ignore', 'inherit'] });
  const app = next({ dir, quiet: true });
  await app.prepare();
  const handle = app.getRequestHandler();
  const server = createServer((req, res) => {
    req.url = `/api${req.url}`;
    handle(req, res);
  });
  const { port, close } = await listening(server);
  return { port, close: () => Promise.all([app.close(), close()]) };
});

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KeyApi } from 'marketgate';
import { createApp } from './app.js';

const { env } = process;
const production = env.NODE_ENV === 'production';

/** The real marketplace, or a sandbox that is loaded only if it is needed. */
async function findService() {
  const { MARKETPLACE_BASE_URL: baseUrl, MARKETPLACE_API_KEY: apiKey } = env;
  if (baseUrl && apiKey) return { baseUrl, apiKey, sandbox: undefined };
  if (baseUrl || apiKey || production) {
    throw new Error(
      'Set MARKETPLACE_BASE_URL and MARKETPLACE_API_KEY, or neither for the sandbox.',
    );
  }
  const { createSandbox } = await import('marketgate/sandbox');
  const sandbox = createSandbox();
  return { ...(await sandbox.listen()), sandbox };
}

async function main(): Promise<void> {
  if (production && (env.SESSION_SECRET?.length ?? 0) < 32) {
    throw new Error('Set SESSION_SECRET in production, to 32 random characters or more.');
  }
  const { baseUrl, apiKey, sandbox } = await findService();
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const sold = env.BUY_URL ?? new URL('/preview/{id}', baseUrl).href.replace('%7Bid%7D', '{id}');
  const app = createApp({
    keyApi,
    shopName: env.SHOP_NAME ?? 'Northlight',
    buyUrl: (id) => sold.replace('{id}', String(id)),
    mediaOrigin: env.MEDIA_ORIGIN ?? new URL(baseUrl).origin,
    secret: env.SESSION_SECRET ?? randomBytes(32).toString('hex'),
    production,
  });
  const server = createServer(app);
  server.listen(Number(env.PORT || 3000), sandbox ? '127.0.0.1' : undefined, () => {
    const { port } = server.address() as AddressInfo;
    const codes = sandbox?.codes.slice(0, 4) ?? [];
    console.log(`\n  The shop is at http://localhost:${port}/`);
    for (const { code, item_id } of codes) console.log(`  ${code}  for /items/${item_id}`);
    console.log('');
  });
  const close = () => {
    server.close(() => void Promise.all([keyApi.close(), sandbox?.close()]));
    server.closeIdleConnections();
  };
  process.once('SIGINT', close).once('SIGTERM', close);
}

main().catch((error: unknown) => {
  console.error(`\n  ${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
});

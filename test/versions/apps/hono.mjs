import { serve } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { Hono } from 'hono';
import { runShop } from './shop.mjs';

runShop(async ({ decide }) => {
  const app = new Hono();
  app.get('/download', async (c) => {
    const { status, json } = await decide(
      c.req.header('x-purchase-code'),
      getConnInfo(c).remote.address,
    );
    if (json.retryAfter) c.header('Retry-After', String(json.retryAfter));
    return c.json(json, status);
  });
  let server;
  const { port } = await new Promise((resolve) => {
    server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, resolve);
  });
  return { port, close: () => server.close(), without: ['login', 'middleware'] };
});

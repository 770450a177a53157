import { runShop } from './shop.mjs';

// Bun's own server: `checkPurchase` decides, without a middleware.
runShop(async ({ decide }) => {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(req) {
      const { address } = server.requestIP(req);
      const { status, json } = await decide(req.headers.get('x-purchase-code'), address);
      const headers = json.retryAfter && { 'Retry-After': String(json.retryAfter) };
      return Response.json(json, { status, headers });
    },
  });
  return { port: server.port, close: () => server.stop(), without: ['login', 'middleware'] };
});

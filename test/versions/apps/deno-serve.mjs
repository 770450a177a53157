import { runShop } from './shop.mjs';

// Deno's own server: `checkPurchase` decides, without a middleware.
runShop(async ({ decide }) => {
  const options = { port: 0, hostname: '127.0.0.1', onListen: () => {} };
  const server = Deno.serve(options, async (req, { remoteAddr }) => {
    const code = req.headers.get('x-purchase-code');
    const { status, json } = await decide(code, remoteAddr.hostname);
    const headers = json.retryAfter && { 'Retry-After': String(json.retryAfter) };
    return Response.json(json, { status, headers });
  });
  const { port } = server.addr;
  return { port, close: () => server.shutdown(), without: ['login', 'middleware'] };
});

import { once } from 'node:events';

/** Serves an app on a free port; what a server's subject is made of. */
export async function listenOn(app, path) {
  // A crowd that comes at once is more than the usual queue of 511.
  const server = app.listen({ port: 0, host: '127.0.0.1', backlog: 2048 });
  server.keepAliveTimeout = 60_000;
  await once(server, 'listening');
  return { url: () => `http://127.0.0.1:${server.address().port}${path}` };
}

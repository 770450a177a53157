import { once } from 'node:events';

/** Serves an app on a free port; what a server's subject is made of. */
export async function listenOn(app, path) {
  const server = app.listen(0, '127.0.0.1');
  server.keepAliveTimeout = 60_000;
  await once(server, 'listening');
  return { url: () => `http://127.0.0.1:${server.address().port}${path}` };
}

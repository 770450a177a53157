import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A proxy that opens tunnels (CONNECT), and does not end well when nobody asked for one. */
export async function forwardProxy(): Promise<{ url: string; close: () => Promise<void> }> {
  let tunnels = 0;
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on('connect', (req, client: Socket) => {
    tunnels++;
    const { hostname, port } = new URL(`http://${req.url}`);
    const upstream = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      if (tunnels === 0) throw new Error('nothing went through the proxy');
    },
  };
}

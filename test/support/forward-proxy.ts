import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/**
 * A proxy that opens tunnels (CONNECT), and does not end well when nobody asked for one.
 * @param to - where all of them lead, whatever was asked for.
 */
export async function forwardProxy(to?: string) {
  const tunnels: string[] = [];
  const server = createServer();
  server.on('connect', ({ url = '' }, client: Socket) => {
    tunnels.push(url);
    const { hostname, port } = new URL(to ?? `http://${url}`);
    const upstream = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Where they led, as in `127.0.0.1:443`. */
    tunnels,
    async close(): Promise<void> {
      server.closeAllConnections();
      await once(server.close(), 'close');
      if (tunnels.length === 0) throw new Error('nothing went through the proxy');
    },
  };
}

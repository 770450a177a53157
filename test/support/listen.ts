import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { onTestFinished } from 'vitest';

/** Lets a server listen on a free port of the loopback until the test is over. Returns the port. */
export async function portOf(server: Server): Promise<number> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Serves an app over plain http. Returns its origin. */
export const listen = async (app: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await portOf(createServer(app))}`;

/** Serves over https, by default `{}` for everything. Returns the origin. */
export async function https(
  identity: ServerOptions & { key: string; cert: string },
  app: RequestListener = (_req, res) => res.end('{}'),
): Promise<string> {
  const server = createHttpsServer(identity, app);
  server.on('tlsClientError', () => undefined);
  return `https://127.0.0.1:${await portOf(server)}`;
}

/**
 * The origin of a port that refuses connections. It is the near end of one, so that nobody else can listen
 * there meanwhile, as on the port of a server that was closed.
 */
export async function refusing(): Promise<string> {
  const held = connect(await portOf(createTcpServer()), '127.0.0.1');
  await once(held, 'connect');
  onTestFinished(() => void held.destroy());
  return `http://127.0.0.1:${held.localPort}`;
}

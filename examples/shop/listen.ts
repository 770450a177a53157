import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Ports that are tried when the first is taken. */
const TRIES = 20;

const isTaken = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE';

/** The wanted port is in use, and no other would do. */
export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
}

/**
 * Listens on the port, or on the next that is free when nobody asked for this very one.
 * @returns the port.
 * @throws PortTakenError
 */
export async function listen(
  server: Server,
  { port, portIsFixed, host }: { port: number; portIsFixed: boolean; host: string | undefined },
): Promise<number> {
  const last = portIsFixed ? port : port + TRIES;
  for (let candidate = port; candidate <= last; candidate++) {
    try {
      await listenOnce(server, candidate, host);
      return (server.address() as AddressInfo).port;
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  throw new PortTakenError(
    portIsFixed
      ? `Port ${port} is taken. Stop what runs there, or set PORT to another.`
      : `The ports ${port} to ${last} are all taken. Set PORT to a free one.`,
  );
}

function listenOnce(server: Server, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

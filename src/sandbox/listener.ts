import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';

/** A host as it stands in a URL. The unspecified addresses are reached through loopback. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** The one server of a sandbox. */
export class Listener {
  readonly #app: Express;
  #server: Server | undefined;

  constructor(app: Express) {
    this.#app = app;
  }

  /** Starts to listen, and says under which origin. Rejects when the port is taken. */
  async listen(port: number, host: string): Promise<string> {
    if (this.#server) throw new Error('The sandbox is listening already; close it first.');
    const server = createServer(this.#app);
    this.#server = server;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, resolve);
      });
    } catch (error) {
      this.#server = undefined;
      throw error;
    }
    const { port: actual } = server.address() as AddressInfo;
    return `http://${urlHost(host)}:${actual}`;
  }

  /** Stops, and cuts off what is still open: kept-alive connections, hanging and endless answers. */
  async close(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }
}

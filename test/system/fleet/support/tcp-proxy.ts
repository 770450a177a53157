import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Stands between a process and Redis, and makes the network what a test wants it to be. */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isOpen = true;

  private constructor(target: number) {
    this.#server = createServer((from) => this.#join(from, target));
  }

  static async start(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Cuts all connections; new ones are closed at once. */
  cut(): void {
    this.#isOpen = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(from: Socket, target: number): void {
    if (!this.#isOpen) {
      from.destroy();
      return;
    }
    const to = connect(target, '127.0.0.1').setNoDelay(true);
    from.setNoDelay(true);
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
    from.pipe(to).pipe(from);
  }
}

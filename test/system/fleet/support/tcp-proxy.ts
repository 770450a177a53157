import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Stands between a process and Redis, and makes the network what a test wants it to be. */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;
  #isOpen = true;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((from) => this.#join(from));
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

  /** What a failover is to a client: its connection ends, and the next one leads to another server. */
  switchTo(target: number): void {
    this.cut();
    this.#target = target;
    this.mend();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #join(from: Socket): void {
    if (!this.#isOpen) {
      from.destroy();
      return;
    }
    const to = connect(this.#target, '127.0.0.1').setNoDelay(true);
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

import { randomUUID } from 'node:crypto';
import { type RedisServer, sharedRedis } from '../../../support/redis-server.js';
import { TestFleet } from './fleet.js';
import { CountingService } from './service.js';
import { TcpProxy } from './tcp-proxy.js';

/** Looks again and again until it is so. Fails when it never is. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const last = performance.now() + 40_000;
  while (!(await isSo())) {
    if (performance.now() > last) throw new Error(`never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A service, a Redis and the processes that share it. */
export class Bench {
  private constructor(
    readonly redis: RedisServer,
    readonly service: CountingService,
    readonly proxies: readonly TcpProxy[],
    readonly fleet: TestFleet,
  ) {}

  /**
   * The processes are connected, each through its own proxy, and hear invalidations.
   * @param skews - milliseconds by which the clock of each process is wrong.
   */
  static async start(skews: readonly number[]): Promise<Bench> {
    const [redis, service] = await Promise.all([sharedRedis(), CountingService.start()]);
    const proxies = await Promise.all(skews.map(() => TcpProxy.start(redis.port)));
    const urls = proxies.map(({ url }) => url);
    const bench = new Bench(
      redis,
      service,
      proxies,
      await TestFleet.start(service.url, urls, skews),
    );
    await bench.allShare();
    return bench;
  }

  async ask(n: number, code: string) {
    const outcomes = await this.fleet.workers[n]?.do('ask', { code });
    return outcomes?.yes;
  }

  /** Waits until all processes share answers and hear invalidations. */
  async allShare(): Promise<void> {
    const { fleet, service } = this;
    let code = '';
    await until('all share', async () => {
      // A shared cache that failed is left alone for five seconds at most.
      await fleet.all('pass', { milliseconds: 5000 });
      code = `probe-${randomUUID()}`;
      await fleet.ask(code);
      return service.calls(code) === 1;
    });
    await until('all hear', async () => {
      await fleet.workers.at(-1)?.do('invalidate', { code });
      return (await fleet.all('peek', { code })).every((known) => known === 'nothing');
    });
  }

  async stop(): Promise<void> {
    await this.fleet.stop();
    for (const proxy of this.proxies) proxy.close();
    this.service.close();
  }
}

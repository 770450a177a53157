import { type RedisServer, startRedis } from '../../../support/redis-server.js';
import type { LoadOutcomes } from './commands.js';
import { TestFleet } from './fleet.js';
import { sum } from './outcomes.js';
import { CountingService } from './service.js';
import { TcpProxy } from './tcp-proxy.js';
import { until } from './until.js';

export const PROCESSES = 4;
const HOT = Array.from({ length: 50 }, (_, n) => `hot-${n}`);
export const USER = 'mira';

/** What a fault did to a fleet: a row of the table. */
export interface FaultReport {
  readonly fault: string;
  readonly requests: number;
  readonly failed: number;
  readonly why: readonly string[];
  /** Milliseconds. */
  readonly slowest: number;
  readonly upstream: number;
  readonly tokens: LoadOutcomes['tokens'];
  /** Milliseconds from the end of the fault until one call was enough for all again. */
  readonly sharesAfter: number | undefined;
}

/** A fleet that reaches its Redis through a proxy, and has a second Redis to fail over to. */
export class FaultBench {
  private constructor(
    readonly redis: RedisServer,
    readonly other: RedisServer,
    readonly proxy: TcpProxy,
    readonly service: CountingService,
    readonly fleet: TestFleet,
  ) {}

  static async start(): Promise<FaultBench> {
    const [redis, other, service] = await Promise.all([
      startRedis(),
      startRedis(),
      CountingService.start(),
    ]);
    const proxy = await TcpProxy.start(redis.port);
    const settings = { serviceUrl: service.url, apiKey: 'key-of-the-shop', guessLimit: 5 };
    const fleet = await TestFleet.start(
      { ...settings, limits: {} },
      Array.from({ length: PROCESSES }, () => proxy.url),
    );
    return new FaultBench(redis, other, proxy, service, fleet);
  }

  async stop(): Promise<void> {
    await this.fleet.stop();
    this.proxy.close();
    this.service.close();
    await Promise.all([this.redis.stop(), this.other.stop()]);
  }

  /**
   * Lets a fault happen under load.
   * @param strike - begins it; may end it as well.
   * @param heal - ends it, when the load is over.
   */
  async under(
    fault: string,
    strike: () => Promise<void> | void,
    heal: () => Promise<void> | void = () => {},
    isEnough: (since: LoadOutcomes['tokens']) => boolean = () => true,
  ): Promise<FaultReport> {
    const { fleet, service } = this;
    await Promise.all(HOT.map((code) => fleet.ask(code)));
    await fleet.workers[0]?.do('setToken', { user: USER, value: 'a-token' });
    const name = fault.replaceAll(/\W/g, '-');
    const callsBefore = service.calls();
    await fleet.all('startLoad', { name, hot: HOT, user: USER });
    await this.#requests(20);
    await strike();
    await this.#requests(150, isEnough);
    const all = await fleet.all('stopLoad', {});
    const upstream = service.calls() - callsBefore;
    await heal();
    return {
      fault,
      ...sum(all),
      upstream,
      tokens: sumTokens(all),
      sharesAfter: await this.#shares(),
    };
  }

  /** Waits until every process has answered that many more requests, and tokens enough. */
  async #requests(
    more: number,
    isEnough: (tokens: LoadOutcomes['tokens']) => boolean = () => true,
  ): Promise<void> {
    const before = await this.fleet.all('load', {});
    await until('there was load enough', async () => {
      const now = await this.fleet.all('load', {});
      return now.every(
        ({ requests, tokens }, n) =>
          requests - (before[n]?.requests ?? 0) >= more && isEnough(tokens),
      );
    });
  }

  /** Until five new codes in a row cost one call each, and an invalidation reaches all. */
  async #shares(): Promise<number | undefined> {
    const begun = performance.now();
    let inARow = 0;
    for (let n = 0; inARow < 5 && performance.now() - begun < 15_000; n++) {
      const code = `after-${begun}-${n}`.replaceAll('.', '-');
      await this.fleet.ask(code);
      inARow = this.service.calls(code) === 1 ? inARow + 1 : 0;
      if (inARow === 5) {
        const heard = this.fleet.all('forgotten', { code });
        await this.fleet.workers[0]?.do('invalidate', { code });
        await heard;
      }
    }
    return inARow === 5 ? performance.now() - begun : undefined;
  }
}

function sumTokens(all: readonly LoadOutcomes[]): LoadOutcomes['tokens'] {
  const total = { found: 0, missing: 0, refused: 0, other: 0, slowest: 0 };
  for (const { tokens } of all) {
    for (const name of ['found', 'missing', 'refused', 'other'] as const) {
      total[name] += tokens[name];
    }
    total.slowest = Math.max(total.slowest, tokens.slowest);
  }
  return total;
}

/** One row per fault. */
export function tableOf(reports: readonly FaultReport[]): string {
  const head = [
    ['Redis is', 'requests', 'failed', 'slowest', 'upstream'],
    ['tokens found', 'missing', 'refused', 'slowest', 'shares again'],
  ].flat();
  const rows = reports.map((report) => [
    report.fault,
    `${report.requests}`,
    `${report.failed}`,
    `${Math.round(report.slowest)} ms`,
    `${report.upstream}`,
    `${report.tokens.found}`,
    `${report.tokens.missing}`,
    `${report.tokens.refused}`,
    `${Math.round(report.tokens.slowest)} ms`,
    report.sharesAfter === undefined ? 'no' : `yes, after ${Math.round(report.sharesAfter)} ms`,
  ]);
  const widths = head.map((_, n) => Math.max(...[head, ...rows].map((row) => row[n]?.length ?? 0)));
  return [head, widths.map((width) => '-'.repeat(width)), ...rows]
    .map((row) =>
      row
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Cache } from '../../../src/cache/cache.js';
import type { SharedCache } from '../../../src/cache/shared-cache.js';
import { ALL, SharedTier } from '../../../src/cache/shared-tier.js';
import { MarketgateError } from '../../../src/errors.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';

// A model check of leases and messages: three processes, one code, and random visits, refunds, invalidations, outages, cuts and
// restarts, in virtual time. Each yes carries the time at which its request was sent, so that it can be told from an older one.
//
// MODEL_RUNS=1200 npx vitest run test/unit/cache/model.test.ts: more than 100,000 visits.

const RUNS = Number(process.env.MODEL_RUNS ?? 120);
const STEPS = 150;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const LIMITS = {
  ...{ ttl: 5 * MINUTE, staleWhileRevalidate: 60 * MINUTE, staleIfError: 24 * 60 * MINUTE },
  ...{ invalidTtl: 30 * SECOND, max: 100, maxInvalid: 100 },
};
/** The longest that the service takes, a message takes, and Redis is frozen, in milliseconds. */
const [TIMEOUT, DELIVERY, FROZEN] = [10 * SECOND, 60, 20 * SECOND];
/** The limit of one call to Redis, the longest way there or back, and how long Redis is left alone, in milliseconds. */
const [CALL, WAY, REST] = [100, 45, SECOND];

interface Yes {
  readonly sent: number;
}

/** Pseudo-random numbers: mulberry32. */
function randomOf(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, between: (from: number, to: number) => Math.floor(from + next() * (to - from)) };
}
type Random = ReturnType<typeof randomOf>;

/** Virtual time. */
class Time {
  now = 1_000_000;
  readonly #waiting: { at: number; go: () => void }[] = [];

  sleep(milliseconds: number): Promise<void> {
    return new Promise((go) => {
      this.#waiting.push({ at: this.now + milliseconds, go });
    });
  }

  async pass(milliseconds: number): Promise<void> {
    const end = this.now + milliseconds;
    for (;;) {
      await new Promise(setImmediate);
      const next = this.#waiting.reduce<{ at: number; go: () => void } | undefined>(
        (first, each) => (first && first.at <= each.at ? first : each),
        undefined,
      );
      if (next === undefined || next.at > end) break;
      this.now = Math.max(this.now, next.at);
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      next.go();
    }
    this.now = end;
  }
}

/** The way of one process to Redis: two connections, each of which can be cut, and calls that take their time. */
class Link implements SharedCache {
  isCut = false;
  isDeaf = false;
  /** When a call that was made on the current connection last failed, and when that connection began. */
  failedAt = Number.NEGATIVE_INFINITY;
  connectedAt = 0;
  /** Since when messages have arrived; infinite while they do not. */
  listensSince = Number.POSITIVE_INFINITY;
  /** The request of the last no that this process has withdrawn. */
  #withdrawn = Number.NEGATIVE_INFINITY;
  #onListening: (isListening: boolean) => void = () => {};

  constructor(readonly process: Process) {}

  read = (key: string) => this.#call(() => this.#redis.read(key));
  write = (...given: Parameters<SharedCache['write']>) =>
    this.#call(() => this.#redis.write(...given));

  async withdraw(...given: Parameters<SharedCache['withdraw']>): Promise<void> {
    const { untold } = this.process;
    await this.#call(() => this.#redis.withdraw(...given));
    this.#withdrawn = Math.max(this.#withdrawn, untold);
  }

  async publish(message: string): Promise<void> {
    const sent = this.#withdrawn;
    await this.#call(() => this.#redis.publish(message));
    const { world } = this.process;
    if (sent > world.told.sent) world.told = { sent, at: world.time.now };
  }

  async subscribe(...[onMessage, onListening]: Parameters<SharedCache['subscribe']>) {
    const { time, random } = this.process.world;
    this.#onListening = onListening;
    await this.#redis.subscribe(
      async (message) => {
        const since = this.listensSince;
        await time.sleep(random.between(1, DELIVERY));
        if (this.listensSince === since && !this.isDeaf) onMessage(message);
      },
      () => {},
    );
    this.#listen();
    return async () => {};
  }

  set(what: 'isCut' | 'isDeaf', isBroken: boolean): void {
    const before = this.isDeaf || this.isCut;
    this[what] = isBroken;
    if (before !== (this.isDeaf || this.isCut)) this.#listen();
  }

  /** Redis has restarted. */
  reconnect(): void {
    this.#listen(false);
    this.#listen();
  }

  get #redis(): MemorySharedCache {
    return this.process.world.redis;
  }

  #listen(isListening = !this.isDeaf && !this.isCut): void {
    const { now } = this.process.world.time;
    this.listensSince = isListening ? now : Number.POSITIVE_INFINITY;
    if (isListening) [this.connectedAt, this.failedAt] = [now, Number.NEGATIVE_INFINITY];
    this.#onListening(isListening);
  }

  /** Runs at Redis after a while, also where its answer comes too late. */
  async #call<T>(run: () => Promise<T>): Promise<T> {
    const { time, random, thawsAt } = this.process.world;
    const [isCut, begunAt] = [this.isCut, time.now];
    const way = Math.max(0, thawsAt - time.now) + random.between(1, WAY);
    const result = (async () => {
      await time.sleep(way);
      if (isCut || this.isCut) throw new Error('cut');
      return run();
    })();
    result.catch(() => {});
    try {
      if (way > CALL - WAY) {
        await time.sleep(CALL);
        throw new Error('too late');
      }
      const value = await result;
      await time.sleep(random.between(1, WAY));
      if (this.isCut) throw new Error('cut');
      return value;
    } catch (error) {
      if (begunAt >= this.connectedAt) this.failedAt = time.now;
      throw error;
    }
  }
}

class World {
  readonly time = new Time();
  readonly redis = new MemorySharedCache(() => this.time.now);
  /** Until when Redis is frozen. */
  thawsAt = 0;
  isSold = true;
  isOut = false;
  /** When the service last could not answer, and when Redis last lost everything. */
  outAt = Number.NEGATIVE_INFINITY;
  emptiedAt = Number.NEGATIVE_INFINITY;
  /** The request of the last no that the fleet was told of, and when. */
  told = { sent: Number.NEGATIVE_INFINITY, at: Number.POSITIVE_INFINITY };
  visits = 0;
  readonly faults: string[] = [];

  constructor(
    readonly random: Random,
    /** Whether Redis freezes, and does late what it was asked before. */
    readonly freezes: boolean,
  ) {}
}

class Process {
  /** The request of the last no that this process has heard. */
  refused = Number.NEGATIVE_INFINITY;
  /** The request of the last no that it has to tell. */
  untold = Number.NEGATIVE_INFINITY;
  /** A stale answer that was served, and when: its refresh has begun. */
  stale = { sent: Number.NEGATIVE_INFINITY, at: Number.POSITIVE_INFINITY };
  readonly link: Link;
  readonly tier: SharedTier;
  readonly cache: Cache<Yes>;

  constructor(
    readonly world: World,
    readonly name: number,
  ) {
    const { time } = world;
    this.link = new Link(this);
    // Its clock is hours apart from those of the others.
    const clock = () => time.now + (name - 1) * 5 * 60 * MINUTE;
    this.tier = new SharedTier(this.link, {
      ...{ timeout: TIMEOUT, staleIfError: LIMITS.staleIfError, clock },
      ...{ apiKey: () => 'key', service: 'https://market.example' },
    });
    this.cache = new Cache<Yes>({
      ...{ what: 'purchase', limits: LIMITS, clock: () => time.now, shared: this.tier },
      ...{ freeze: (value) => value, request: () => this.#ask(), refusal: () => undefined },
    });
  }

  /** The service takes its time before and after it decides. */
  async #ask(): Promise<Yes | null> {
    const { time, random } = this.world;
    const sent = time.now;
    const total = random.between(2, random.next() < 0.5 ? TIMEOUT : 50);
    const before = random.between(1, total);
    await time.sleep(before);
    const answer = this.world.isSold ? { sent } : null;
    const { isOut } = this.world;
    await time.sleep(total - before);
    if (isOut) {
      this.world.outAt = time.now;
      throw new MarketgateError('service_unavailable', 'out');
    }
    if (answer === null) {
      this.refused = Math.max(this.refused, sent);
      this.untold = Math.max(this.untold, sent);
    }
    return answer;
  }

  async visit(fresh: boolean): Promise<void> {
    const { world, link } = this;
    const { time } = world;
    const [begunAt, refused, told, stale] = [time.now, this.refused, world.told, this.stale];
    const got = await Promise.resolve(this.cache.get('code', { fresh })).catch(() => undefined);
    world.visits++;
    const yes = got?.value;
    if (!yes) return;
    const fault = (what: string) =>
      world.faults.push(`process ${this.name} at ${begunAt}, a yes of ${yes.sent}: ${what}`);
    // A row is taken for younger than it is by the time that its write took.
    const slack = WAY + (world.freezes ? FROZEN : 0);
    if (yes.sent + slack < refused) fault(`its own no is of ${refused}`);
    // Strict while Redis answers this process, has lost nothing since, and the service has not failed.
    const hears = link.listensSince < told.at ? told.at + DELIVERY : told.at;
    const answers = link.failedAt + REST < begunAt && !link.isCut && world.emptiedAt < told.at;
    const isUp = world.outAt < begunAt;
    if (begunAt > hears && begunAt > link.connectedAt && answers && isUp && yes.sent < told.sent) {
      fault(`the fleet was told at ${told.at} of a no of ${told.sent}`);
    }
    // Bounded otherwise.
    if ((got?.at ?? 0) > yes.sent + slack) fault(`it is taken for one of ${got?.at}`);
    const age = begunAt - yes.sent - slack;
    const { ttl, staleWhileRevalidate, staleIfError } = LIMITS;
    if (age > (isUp ? ttl + staleWhileRevalidate : staleIfError)) fault('it is too old');
    if (world.outAt < stale.at && begunAt > stale.at + 3 * TIMEOUT && yes.sent <= stale.sent) {
      fault(`its refresh has begun at ${stale.at}`);
    }
    if (age > ttl && yes.sent > stale.sent) this.stale = { sent: yes.sent, at: time.now };
  }

  /** One code or everything. */
  invalidate(isAll: boolean): void {
    const { time } = this.world;
    this.refused = time.now;
    if (isAll) this.cache.invalidateAll();
    else {
      this.untold = time.now;
      this.cache.invalidate('code');
    }
    void this.tier.withdraw(isAll ? ALL : this.cache.subjectOf('code'));
  }
}

async function run(seed: number): Promise<World> {
  const random = randomOf(seed);
  const world = new World(random, seed % 3 === 0);
  vi.spyOn(performance, 'now').mockImplementation(() => world.time.now);
  const processes = [0, 1, 2].map((name) => new Process(world, name));
  const waits = [5, 20, 50, 200, 500, 3 * SECOND, 20 * SECOND, 40 * SECOND, 6 * MINUTE];
  for (let step = 0; step < STEPS; step++) {
    const [x, each] = [random.next(), processes[random.between(0, 3)] as Process];
    if (x < 0.6) void each.visit(random.next() < 0.15);
    else if (x < 0.66) world.isSold = false;
    else if (x < 0.74) world.isSold = true;
    else if (x < 0.78) each.invalidate(x > 0.77);
    else if (x < 0.82) each.link.set(random.next() < 0.5 ? 'isCut' : 'isDeaf', true);
    else if (x < 0.92) {
      for (const { link } of processes)
        for (const what of ['isCut', 'isDeaf'] as const) link.set(what, false);
    } else if (x < 0.94) world.isOut = !world.isOut;
    else if (x < 0.95) {
      if (world.freezes) world.thawsAt = world.time.now + random.between(1, FROZEN);
    } else if (x < 0.96) {
      world.redis.clear();
      world.emptiedAt = world.time.now;
      for (const { link } of processes) link.reconnect();
    }
    await world.time.pass(waits[random.between(0, waits.length)] as number);
  }
  await world.time.pass(MINUTE);
  return world;
}

beforeAll(() => vi.useRealTimers());
afterAll(() => vi.restoreAllMocks());

it('no process serves a yes from before a no that it heard, or that the fleet was told of while Redis answers, nor one that is too old', async () => {
  let visits = 0;
  for (let seed = 1; seed <= RUNS; seed++) {
    const world = await run(seed);
    visits += world.visits;
    expect(world.faults, `seed ${seed}`).toEqual([]);
  }
  if (process.env.MODEL_RUNS) console.info(`${visits} visits`);
  expect(visits).toBeGreaterThan(RUNS * 50);
}, 3_600_000);

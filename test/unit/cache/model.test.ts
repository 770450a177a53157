import { expect, it, vi } from 'vitest';
import { Cache } from '../../../src/cache/cache.js';
import type { SharedCache } from '../../../src/cache/shared-cache.js';
import { ALL, SharedTier } from '../../../src/cache/shared-tier.js';
import { MarketgateError } from '../../../src/errors.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';

// A model check of leases and messages: three processes, one code, and random visits, refunds, invalidations, outages, cuts and
// restarts, in virtual time. Each yes carries the time at which its request was sent, so that it can be told from an older one.
//
// MODEL_RUNS=1200 npx vitest run test/unit/cache/model.test.ts: more than 100,000 visits.

const RUNS = Number(process.env.MODEL_RUNS ?? 60);
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

/** Pseudo-random numbers, by Lehmer's method. */
function randomOf(seed: number) {
  let state = seed * 7919;
  const next = (): number => {
    state = (state * 48_271) % 0x7fffffff;
    return state / 0x7fffffff;
  };
  return { next, between: (from: number, to: number) => Math.floor(from + next() * (to - from)) };
}
type Random = ReturnType<typeof randomOf>;

/** Virtual time. */
const now = () => performance.now();
const sleep = (milliseconds: number) => new Promise((go) => setTimeout(go, milliseconds));

async function pass(milliseconds: number): Promise<void> {
  let isOver = false;
  setTimeout(() => {
    isOver = true;
  }, milliseconds);
  await new Promise(setImmediate);
  while (!isOver) {
    vi.advanceTimersToNextTimer();
    await new Promise(setImmediate);
  }
}

/** The way of one process to Redis: two connections, each of which can be cut, and calls that take their time. */
class Link implements SharedCache {
  isCut = false;
  isDeaf = false;
  /** When Redis last began to answer this process, or is asked again after a call that has failed. */
  usedSince = 0;
  #connections = 0;
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
    if (sent > world.told.sent) world.told = { sent, at: now() };
  }

  async subscribe(...[onMessage, onListening]: Parameters<SharedCache['subscribe']>) {
    this.#onListening = onListening;
    await this.#redis.subscribe(
      async (message) => {
        const connection = this.#connections;
        await sleep(this.process.world.random.between(1, DELIVERY));
        if (this.#isListening && this.#connections === connection) onMessage(message);
      },
      () => {},
    );
    this.#listen();
    return async () => {};
  }

  set(what: 'isCut' | 'isDeaf', isBroken: boolean): void {
    const before = this.#isListening;
    this[what] = isBroken;
    if (before !== this.#isListening) this.#listen();
  }

  /** Redis has restarted. */
  reconnect(): void {
    this.#onListening(false);
    this.#listen();
  }

  get #isListening(): boolean {
    return !this.isDeaf && !this.isCut;
  }

  get #redis(): MemorySharedCache {
    return this.process.world.redis;
  }

  #listen(): void {
    if (this.#isListening) this.usedSince = now();
    this.#connections++;
    this.#onListening(this.#isListening);
  }

  /** Runs at Redis after a while, also where its answer comes too late. */
  async #call<T>(run: () => Promise<T>): Promise<T> {
    const { random, thawsAt } = this.process.world;
    const [wasCut, frozen] = [this.isCut, Math.max(0, thawsAt - now())];
    if (frozen > 0) this.usedSince = now() + CALL + REST;
    try {
      await sleep(frozen + random.between(1, WAY));
      if (wasCut || this.isCut) throw new Error('cut');
      const value = await run();
      await sleep(random.between(1, WAY));
      if (this.isCut) throw new Error('cut');
      return value;
    } catch (error) {
      this.usedSince = now() + REST;
      throw error;
    }
  }
}

/** No answer was negative yet. */
const NONE = { sent: Number.NEGATIVE_INFINITY, at: Number.POSITIVE_INFINITY };

class World {
  readonly redis = new MemorySharedCache(now);
  /** Until when Redis is frozen. */
  thawsAt = 0;
  isSold = true;
  isOut = false;
  /** When the service last could not answer. */
  outAt = Number.NEGATIVE_INFINITY;
  /** The request of the last no that the fleet was told of, and when. Redis loses it with all it has. */
  told = NONE;
  visits = 0;
  readonly faults: string[] = [];

  constructor(
    readonly random: Random,
    /** Whether Redis freezes, and does late what it was asked before. */
    readonly freezes: boolean,
  ) {}
}

class Process {
  /** The request of the last no that this process has heard, and of the last that it has to tell. */
  refused = Number.NEGATIVE_INFINITY;
  untold = Number.NEGATIVE_INFINITY;
  readonly link = new Link(this);
  readonly tier: SharedTier;
  readonly cache: Cache<Yes>;

  constructor(
    readonly world: World,
    skew: number,
  ) {
    this.tier = new SharedTier(this.link, {
      ...{ timeout: TIMEOUT, staleIfError: LIMITS.staleIfError, clock: () => now() + skew },
      ...{ apiKey: () => 'key', service: 'https://market.example' },
    });
    this.cache = new Cache<Yes>({
      ...{ what: 'purchase', limits: LIMITS, clock: now, shared: this.tier },
      ...{ freeze: (value) => value, request: () => this.#ask(), refusal: () => undefined },
    });
  }

  /** The service takes its time before and after it decides. */
  async #ask(): Promise<Yes | null> {
    const { world } = this;
    const { random } = world;
    const sent = now();
    const total = random.between(2, random.next() < 0.5 ? TIMEOUT : 50);
    const before = random.between(1, total);
    await sleep(before);
    const { isOut, isSold } = world;
    await sleep(total - before);
    if (isOut) {
      world.outAt = now();
      throw new MarketgateError('service_unavailable', 'out');
    }
    if (isSold) return { sent };
    this.refused = Math.max(this.refused, sent);
    this.untold = Math.max(this.untold, sent);
    return null;
  }

  async visit(fresh: boolean): Promise<void> {
    const { world, link, refused } = this;
    const { told } = world;
    const begunAt = now();
    const got = await Promise.resolve(this.cache.get('code', { fresh })).catch(() => undefined);
    world.visits++;
    const yes = got?.value;
    if (!yes) return;
    const fault = (what: string) =>
      world.faults.push(`at ${begunAt} a yes of ${yes.sent}: ${what}`);
    // A row is taken for younger than it is by the time that its write took.
    const slack = WAY + (world.freezes ? FROZEN : 0);
    if (yes.sent + slack < refused) fault(`this process has heard a no of ${refused}`);
    // Strict while Redis answers this process and the service has not failed.
    const isUp = world.outAt < begunAt;
    const isStrict = isUp && !link.isCut && begunAt > link.usedSince;
    if (isStrict && begunAt > told.at + DELIVERY && yes.sent < told.sent) {
      fault(`the fleet was told at ${told.at} of a no of ${told.sent}`);
    }
    // Bounded otherwise.
    const { ttl, staleWhileRevalidate, staleIfError } = LIMITS;
    const life = isUp ? ttl + staleWhileRevalidate : staleIfError;
    if (begunAt - yes.sent - slack > life) fault('it is too old');
  }

  /** One code or everything. */
  invalidate(isAll: boolean): void {
    this.refused = now();
    if (isAll) this.cache.invalidateAll();
    else {
      this.untold = now();
      this.cache.invalidate('code');
    }
    void this.tier.withdraw(isAll ? ALL : this.cache.subjectOf('code'));
  }
}

async function run(seed: number): Promise<World> {
  const random = randomOf(seed);
  const world = new World(random, seed % 3 === 0);
  // Their clocks are hours apart.
  const processes = [-5, 0, 5].map((hours) => new Process(world, hours * 60 * MINUTE));
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
      if (world.freezes) world.thawsAt = now() + random.between(1, FROZEN);
    } else if (x < 0.96) {
      world.redis.clear();
      world.told = NONE;
      for (const { link } of processes) link.reconnect();
    }
    await pass(waits[random.between(0, waits.length)] as number);
  }
  await pass(MINUTE);
  return world;
}

it('no process serves a yes from before a no that it heard, or that the fleet was told of while Redis answers, nor one that is too old', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  let visits = 0;
  for (let seed = 1; seed <= RUNS; seed++) {
    const world = await run(seed);
    visits += world.visits;
    expect(world.faults, `seed ${seed}`).toEqual([]);
  }
  expect(visits).toBeGreaterThan(RUNS * 50);
}, 3_600_000);

import fc from 'fast-check';
import {
  isMarketgateError,
  KeyApi,
  type Purchase,
  type SharedCache,
  type SharedRow,
} from 'marketgate';
import {
  json,
  page,
  type Reply,
  ServiceInMemory,
  type ServiceRequest,
  type WireAnswer,
} from '../support/service-in-memory.js';
import { account, item, KEY, purchase, refusal, success } from '../support/wire.js';

/**
 * A fleet against a model of what the contract promises of it (section 2): several processes, one shared
 * cache, and a random sequence of lookups, refunds, outages, invalidations, faults and clock steps.
 */

/** `full`: deletes, but does not write. */
export type LinkState = 'up' | 'cut' | 'read-only' | 'full';

/** The way of one process to the shared cache, which can be cut or refuse what a full or read-only server refuses. */
export class Link implements SharedCache {
  readonly #shared: Required<SharedCache>;
  readonly #tellsAlways: boolean;
  #state: LinkState = 'up';
  #listener: ((key: string | undefined) => void) | undefined;

  /**
   * @param tellsAlways - whether each new state counts as a reconnect, not only the end of a cut.
   * @param isOrdered - whether it keeps the order of answers.
   */
  constructor(shared: SharedCache, tellsAlways: boolean, isOrdered = true) {
    this.#shared = shared as Required<SharedCache>;
    this.#tellsAlways = tellsAlways;
    if (!isOrdered) Object.assign(this, { read: undefined, write: undefined });
  }

  setState(state: LinkState): void {
    const isBack = this.#tellsAlways || this.#state === 'cut';
    this.#state = state;
    if (isBack) this.reconnect();
  }

  reconnect(): void {
    if (this.#state !== 'cut') this.#listener?.(undefined);
  }

  get: SharedCache['get'] = (key) => this.#when('read', () => this.#shared.get(key));
  set: SharedCache['set'] = (...given) => this.#when('write', () => this.#shared.set(...given));
  delete: SharedCache['delete'] = (key) => this.#when('delete', () => this.#shared.delete(key));
  read = (key: string): Promise<SharedRow> => this.#when('read', () => this.#shared.read(key));
  write = (...given: Parameters<Required<SharedCache>['write']>): Promise<boolean> =>
    this.#when('write', () => this.#shared.write(...given));
  lock = (key: string, ttl: number) => this.#when('write', () => this.#shared.lock(key, ttl));
  publish = (key: string | undefined) => this.#when('read', () => this.#shared.publish(key));

  async subscribe(listener: (key: string | undefined) => void): Promise<() => Promise<void>> {
    if (this.#state === 'cut') throw new Error('the link is cut');
    this.#listener = listener;
    return this.#shared.subscribe((key) => {
      if (this.#state !== 'cut') listener(key);
    });
  }

  async #when<T>(needs: 'read' | 'delete' | 'write', run: () => Promise<T>): Promise<T> {
    const isAllowed =
      this.#state === 'up' ||
      (this.#state === 'read-only' && needs === 'read') ||
      (this.#state === 'full' && needs !== 'write');
    if (!isAllowed) throw new Error(`the link is ${this.#state}`);
    return run();
  }
}

export interface Backend {
  link(): Link;
  /** Whether it always answers in time, also on a busy machine. */
  readonly isPrompt: boolean;
  /** Whether it keeps the order of answers. */
  readonly isOrdered: boolean;
  /** Forgets all rows and cuts all connections for a moment, as a server that restarts empty. */
  restartEmpty(): Promise<void>;
  /** Forgets one row, as a server that is short of memory. */
  evict(n: number): Promise<void>;
}

export const PROCESSES = 3;
const CODES = ['first-purchase-code', 'second-purchase-code'] as const;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TTL = 5 * MINUTE;
const STALE = HOUR;
const STALE_IF_ERROR = 24 * HOUR;

interface Ask {
  readonly by: number;
  readonly code: number;
  readonly fresh: boolean;
}

type Step =
  | { readonly do: 'ask'; readonly all: readonly Ask[] }
  | { readonly do: 'ask slowly'; readonly ask: Ask }
  | { readonly do: 'answer' }
  | { readonly do: 'guess'; readonly by: number; readonly count: number }
  | { readonly do: 'refund'; readonly by: number; readonly code: number }
  | { readonly do: 'restart'; readonly of: number; readonly isCut: boolean }
  | { readonly do: 'rotate' }
  | { readonly do: 'invalidate'; readonly by: number; readonly code: number | undefined }
  | { readonly do: 'service'; readonly code: number; readonly sells: boolean }
  | { readonly do: 'outage'; readonly on: boolean }
  | { readonly do: 'link'; readonly of: number; readonly state: LinkState }
  | { readonly do: 'flush' }
  | { readonly do: 'evict'; readonly row: number }
  | { readonly do: 'wait'; readonly milliseconds: number }
  | { readonly do: 'step clock'; readonly of: number; readonly by: number };

const process = fc.nat(PROCESSES - 1);
const code = fc.nat(CODES.length - 1);

const fresh = fc.oneof({ weight: 2, arbitrary: fc.constant(false) }, fc.boolean());
const lookup = fc.record({ by: process, code, fresh });
const lookups = (minLength: number, maxLength: number) =>
  fc.array(lookup, { minLength, maxLength });

type StepOf<D extends Step['do']> = Omit<Extract<Step, { do: D }>, 'do'>;
const does = <D extends Step['do']>(
  weight: number,
  name: D,
  fields: { [K in keyof StepOf<D>]: fc.Arbitrary<StepOf<D>[K]> },
) => {
  const step: unknown = fc.record({ do: fc.constant(name), ...fields });
  return { weight, arbitrary: step as fc.Arbitrary<Step> };
};
const step = fc.oneof(
  // One lookup, or several at once.
  does(8, 'ask', { all: fc.oneof(lookups(1, 1), lookups(1, 1), lookups(2, 5)) }),
  // The service takes its time with the next answer, and gives it when other things have happened.
  does(3, 'ask slowly', { ask: lookup }),
  does(2, 'answer', {}),
  // Wrong codes, which can be more than a process remembers.
  does(1, 'guess', { by: process, count: fc.constantFrom(2, 5, 10) }),
  does(2, 'invalidate', { by: process, code: fc.option(code, { nil: undefined }) }),
  does(2, 'service', { code, sells: fc.boolean() }),
  // The service takes a purchase back, one process asks, and then another one looks.
  does(3, 'refund', { by: process, code }),
  does(2, 'outage', { on: fc.boolean() }),
  does(1, 'restart', { of: process, isCut: fc.boolean() }),
  does(1, 'rotate', {}),
  does(4, 'link', {
    of: process,
    state: fc.constantFrom<LinkState>('up', 'up', 'cut', 'cut', 'read-only', 'read-only', 'full'),
  }),
  does(1, 'flush', {}),
  does(1, 'evict', { row: fc.nat(9) }),
  does(3, 'wait', {
    milliseconds: fc.constantFrom(1000, 31_000, 6 * MINUTE, 2 * HOUR, 23 * HOUR),
  }),
  does(1, 'step clock', { of: process, by: fc.constantFrom(-5 * MINUTE, -3 * HOUR, 5 * MINUTE) }),
);

const everyone = Array.from({ length: PROCESSES }, (_, by) => by);

/** A process is cut off while it or another one hears of a refund, and comes back. */
const away = fc.record({ of: process, by: process, code }).map(({ of, by, code }): Step[] => [
  { do: 'service', code, sells: true },
  { do: 'ask', all: everyone.map((each) => ({ by: each, code, fresh: true })) },
  { do: 'link', of, state: 'cut' },
  { do: 'refund', by, code },
  { do: 'link', of, state: 'up' },
  { do: 'ask', all: everyone.map((each) => ({ by: each, code, fresh: false })) },
]);

/** A process that knows nothing of a purchase is cut off, hears of its refund and of many wrong codes, and comes back. */
const flooded = fc.record({ of: process, code }).map(({ of, code }): Step[] => [
  { do: 'service', code, sells: true },
  { do: 'restart', of, isCut: false },
  { do: 'ask', all: everyone.filter((by) => by !== of).map((by) => ({ by, code, fresh: true })) },
  { do: 'link', of, state: 'cut' },
  { do: 'refund', by: of, code },
  { do: 'guess', by: of, count: 10 },
  { do: 'link', of, state: 'up' },
  { do: 'ask', all: everyone.map((by) => ({ by, code, fresh: false })) },
]);

/** The server of the shared cache refuses writes while a purchase is refunded and another process starts. */
const refused = fc
  .record({
    of: process,
    by: process,
    code,
    state: fc.constantFrom<LinkState>('read-only', 'full'),
  })
  .map(({ of, by, code, state }): Step[] => [
    { do: 'service', code, sells: true },
    { do: 'ask', all: everyone.map((each) => ({ by: each, code, fresh: true })) },
    ...everyone.map((each): Step => ({ do: 'link', of: each, state })),
    { do: 'refund', by, code },
    { do: 'restart', of, isCut: false },
    { do: 'ask', all: everyone.map((each) => ({ by: each, code, fresh: false })) },
    ...everyone.map((each): Step => ({ do: 'link', of: each, state: 'up' })),
    { do: 'ask', all: everyone.map((each) => ({ by: each, code, fresh: false })) },
  ]);

export const sequences = fc
  .array(
    fc.oneof(
      { weight: 60, arbitrary: step.map((each) => [each]) },
      { weight: 2, arbitrary: away },
      { weight: 1, arbitrary: flooded },
      { weight: 1, arbitrary: refused },
    ),
    {
      minLength: 10,
      maxLength: 35,
      size: 'max',
    },
  )
  .map((parts) => parts.flat());

/** A lookup that has begun. */
interface Pending extends Ask {
  /** How many questions there were before it, in all and of its own about the code. */
  readonly before: number;
  readonly askedBefore: number;
  /** Whether the service is up and sells the code from its beginning on. */
  isSteady: boolean;
  /** Whether it must be answered from the cache in an outage. */
  due: boolean;
  /** Whether other things have happened since. */
  isLate: boolean;
  outcome: Purchase | null | Error | undefined;
}

/** What one process must know of one code. */
interface Known {
  /** The number of the last question whose answer is withdrawn: it must not be served. */
  withdrawnUpTo: number;
  /** The same, but only while the service answers: among too many wrong codes, nobody knows which was a refund. */
  doubtfulUpTo: number;
  /** The last positive answer that it has served, and so holds. */
  held:
    | { readonly number: number; readonly slack: number; readonly disturbances: number }
    | undefined;
}

/** Runs one sequence, and throws where a promise is broken. */
export async function runSequence(
  steps: readonly Step[],
  backend: Backend,
  settle: () => Promise<void>,
  wait: (milliseconds: number) => Promise<void>,
): Promise<void> {
  let now = 1_800_000_000_000;
  let isOut = false;
  let key = KEY;
  const sells = CODES.map(() => true);
  /** Questions about codes, numbered over all processes: the version of an answer is its number. */
  let questions = 0;
  let guesses = 0;
  const askedAt: number[] = [];
  const links = Array.from({ length: PROCESSES }, () => backend.link());
  const states: LinkState[] = links.map(() => 'up');
  const skews = links.map(() => 0);
  /** The last question of each process about each code. */
  const lastAsked = links.map(() => CODES.map(() => 0));
  const known: Known[][] = links.map(nothingKnown);
  /** Withdrawals that a process could not tell the others yet, by process and code. */
  const untold = new Map<string, { by: number; code: number; upTo: number }>();
  /** Those of them that can have been dropped, because more wrong codes came. */
  const dropped = new Set<string>();
  /** What a process that starts finds withdrawn in the shared cache. */
  const stored = CODES.map(() => 0);
  /** The same for what was dropped: it finds no answers from before. */
  const doubtful = CODES.map(() => 0);
  /** What is stored, unless its row can be lost, or is looked for under another secret: then those that told it tell it again. */
  const certain = CODES.map(() => 0);
  /** The row of the generation can be lost: those who do not know it find nothing that is stored now. */
  let canLackGeneration = false;
  /** Who has started while the server refuses writes, and what was withdrawn then: it believes no answer from before. */
  const startedRefused = new Map<number, number[]>();
  /** What was withdrawn by anybody, whoever knows of it. */
  const withdrawn = CODES.map(() => -1);
  const withdrawnAt = CODES.map(() => 0);
  /** Who could not tell the others to forget everything. */
  const unsentAll = new Set<number>();
  /** Connections that changed, and losses of the shared cache. */
  let disturbances = 0;
  /** Milliseconds by which an answer can look older than it is, as no process knows how wrong clocks are. */
  let slack = 0;

  /** Time passes, by all clocks. */
  async function pass(milliseconds: number): Promise<void> {
    now += milliseconds;
    await wait(milliseconds);
  }

  function nothingKnown(): Known[] {
    return CODES.map(() => ({ withdrawnUpTo: 0, doubtfulUpTo: 0, held: undefined }));
  }

  /** Lookups in progress while other things happen, and the answers of the service that they wait for. */
  const open = new Set<Pending>();
  const held: { readonly by: number; readonly release: () => void }[] = [];
  /** Whose next question about which code the service answers later. */
  let slow: Ask | undefined;

  /** Gives what the service holds back. */
  function release(by?: number): void {
    for (const each of held.splice(0)) {
      if (by === undefined || each.by === by) each.release();
      else held.push(each);
    }
  }

  const serviceOf = (by: number) =>
    new ServiceInMemory((request): Reply => {
      const reply = replyTo(request, by);
      const isSlow =
        slow?.by === by && request.parameter('purchase_code') === CODES[slow.code] && reply;
      if (!isSlow) return reply;
      slow = undefined;
      return new Promise((resolve) => held.push({ by, release: () => resolve(reply) }));
    });

  function replyTo(request: ServiceRequest, by: number): WireAnswer {
    if (request.path === '/api/account/details') {
      return isOut ? page(503) : json(success({ data: account }));
    }
    const wanted = request.parameter('purchase_code') ?? '';
    const index = CODES.indexOf(wanted as (typeof CODES)[number]);
    if (index === -1) return isOut ? page(503) : json(refusal('Invalid purchase code'), 404);
    const number = ++questions;
    askedAt[number] = now;
    if (isOut) return page(503);
    (lastAsked[by] as number[])[index] = number;
    if (!sells[index]) {
      // Also where a refresh in the background hears it.
      withdrawn[index] = Math.max(withdrawn[index] ?? -1, number - 1);
      withdrawnAt[index] = now;
      return json(refusal('Invalid purchase code'), 404);
    }
    const sold = { ...purchase, purchase_code: wanted, item: { ...item, version: `${number}` } };
    return json(success({ data: { purchase: sold } }));
  }
  const start = (n: number): KeyApi =>
    new KeyApi({
      baseUrl: 'https://market.example',
      apiKey: () => key,
      retries: 0,
      // A slow answer is no outage.
      timeout: 12 * HOUR,
      clock: () => now + (skews[n] ?? 0),
      dispatcher: serviceOf(n),
      // As small as it can be without that a code pushes out the other one.
      cache: { shared: links[n] as Link, max: CODES.length, maxInvalid: 2 },
    });
  const processes = links.map((_, n) => start(n));

  /** A process has heard a real no, or was told to forget: the others must know, or will. */
  function withdraw(by: number, index: number, upTo: number, isHeard = true): void {
    const own = known[by]?.[index] as Known;
    own.withdrawnUpTo = Math.max(own.withdrawnUpTo, upTo);
    withdrawn[index] = Math.max(withdrawn[index] ?? -1, upTo);
    withdrawnAt[index] = now;
    dropped.delete(`${by} ${index}`);
    // Where it cannot be written, the old row is deleted at least.
    if (isHeard && states[by] === 'full') stored[index] = Math.max(stored[index] ?? 0, upTo);
    if (!isHeard && !backend.isPrompt) {
      untold.set(`${by} ${index}`, { by, code: index, upTo });
      return;
    }
    // A process whose writes are refused reaches those that hear its message.
    if (states[by] !== 'cut' && isHeard) tell(by, index, upTo, states[by] === 'up');
    if (states[by] !== 'up') untold.set(`${by} ${index}`, { by, code: index, upTo });
  }

  /** What a process that was cut off learns when it is back: the shared cache knows. */
  const missed: { of: number; by: number; code: number; upTo: number }[] = [];

  function tell(
    by: number,
    index: number,
    upTo: number,
    isStored: boolean,
    isDropped = false,
  ): void {
    if (isDropped) {
      doubtful[index] = Math.max(doubtful[index] ?? 0, upTo);
      for (const [n, each] of known.entries()) {
        const other = each[index] as Known;
        const isTold = backend.isOrdered && states[n] !== 'cut';
        if (isTold) other.doubtfulUpTo = Math.max(other.doubtfulUpTo, upTo);
      }
      return;
    }
    // Without an order, only the process that heard it must know.
    if (isStored && backend.isOrdered) stored[index] = Math.max(stored[index] ?? 0, upTo);
    if (isStored && backend.isOrdered && !canLackGeneration) {
      certain[index] = Math.max(certain[index] ?? 0, upTo);
    }
    for (const [n, each] of known.entries()) {
      const isInTouch = n === by || (states[n] !== 'cut' && backend.isOrdered);
      const other = each[index] as Known;
      if (isInTouch) other.withdrawnUpTo = Math.max(other.withdrawnUpTo, upTo);
      else if (isStored && backend.isOrdered) missed.push({ of: n, by, code: index, upTo });
    }
    if (canLackGeneration) lose();
  }

  /** The shared cache has lost what a process missed: those that told it tell it again. */
  function lose(): void {
    certain.fill(0);
    for (const { of, by, code: index, upTo } of missed.splice(0)) {
      // Its own invalidation of everything hides what was only in the lost row: another one of everything.
      if (unsentAll.has(of)) continue;
      const name = `${by} ${index}`;
      untold.set(name, { by, code: index, upTo: Math.max(upTo, untold.get(name)?.upTo ?? 0) });
    }
  }

  /** Everything that is told later is told by then, by the timer if not on reconnecting. */
  async function toldByNow(): Promise<void> {
    await pass(40_000);
    await settle();
    for (const [name, { by, code: index, upTo }] of [...untold]) {
      if (states[by] !== 'up') continue;
      untold.delete(name);
      tell(by, index, upTo, true, dropped.has(name));
    }
    for (const [n, { of, code: index, upTo }] of [...missed.entries()].reverse()) {
      if (states[of] === 'cut') continue;
      const own = known[of]?.[index] as Known;
      own.withdrawnUpTo = Math.max(own.withdrawnUpTo, upTo);
      missed.splice(n, 1);
    }
  }

  function begin(ask: Ask): Pending {
    const { by, code: index, fresh } = ask;
    const pending: Pending = {
      ...ask,
      before: questions,
      askedBefore: lastAsked[by]?.[index] ?? 0,
      isSteady: sells[index] === true && !isOut,
      due: !fresh && mustServe(by, index),
      isLate: false,
      outcome: undefined,
    };
    void (processes[by] as KeyApi).validatePurchase(CODES[index] as string, { fresh }).then(
      (value) => {
        pending.outcome = value;
      },
      (error: unknown) => {
        pending.outcome = error as Error;
      },
    );
    return pending;
  }

  /** Waits for lookups. Some wait for others, for as long as a lock lives. */
  async function settled(all: Iterable<Pending>, looks: number): Promise<boolean> {
    const isDone = () => [...all].every(({ outcome }) => outcome !== undefined);
    for (let look = 0; !isDone() && look < looks; look++) {
      await settle();
      if (!isDone()) await pass(25);
    }
    await settle();
    return isDone();
  }

  /** Lookups that overlap. */
  async function lookUp(all: readonly Ask[]): Promise<void> {
    const begun = all.map(begin);
    const limits = begun.map(limitOf);
    // One can have joined a lookup of its process that the service has not answered yet.
    const hasJoined = !(await settled(begun, 200));
    if (hasJoined) {
      for (const each of begun) each.isLate = true;
      await answer();
      await settled(begun, 500);
    }
    const isAlone = all.length === 1 && !hasJoined;
    for (const [n, each] of begun.entries()) check(each, limits[n] as number, isAlone);
  }

  /** The service gives the answers that it holds back. */
  async function answer(): Promise<void> {
    const late = [...open];
    open.clear();
    const limits = late.map(limitOf);
    for (const each of late) each.due &&= mustServe(each.by, each.code);
    release();
    await settled(late, 500);
    for (const [n, each] of late.entries()) check(each, limits[n] as number, false);
  }

  /** The number of the last question whose answer a lookup must not get any more. */
  function limitOf({ by, code: index }: Pending): number {
    const { withdrawnUpTo = 0, doubtfulUpTo = 0 } = known[by]?.[index] ?? {};
    const upTo = Math.max(withdrawnUpTo, startedRefused.get(by)?.[index] ?? 0);
    return isOut ? upTo : Math.max(upTo, doubtfulUpTo);
  }

  function check(pending: Pending, upTo: number, isAlone: boolean): void {
    const { by, code: index, fresh, before, isSteady, due, outcome: found } = pending;
    if (found === undefined) throw new Error('a lookup that never ends');
    const asked = lastAsked[by]?.[index] ?? 0;
    const hasAsked = asked > pending.askedBefore;
    if (found === null) {
      if (isSteady && (fresh || (isAlone && hasAsked))) {
        throw new Error('a no, though the service said yes');
      }
      if (isOut && due) throw new Error('a no in an outage, though a yes was not withdrawn');
      // Only a question of its own is a no that this process has heard.
      if (!pending.isLate && hasAsked && !sells[index]) withdraw(by, index, asked - 1);
    } else if (found instanceof Error) {
      // What happens meanwhile can be too much.
      const isTooMuch = pending.isLate || dropped.size > 0;
      const isGivenUp = isTooMuch && found.message.includes('each answer was invalidated');
      if (!isMarketgateError(found) || !(isOut || isGivenUp)) throw found;
      if (isOut && due) throw new Error('a yes that was not withdrawn is lost in an outage');
    } else {
      const number = Number((found as typeof purchase).item.version);
      const age = now - (askedAt[number] ?? 0);
      // Tombstones last as long as answers. A process whose clock is wrong can serve one for longer.
      if (number <= upTo && age < STALE_IF_ERROR) {
        throw new Error(`answer ${number} was served, though ${upTo} was withdrawn`);
      }
      if (age >= STALE_IF_ERROR + slack) throw new Error(`an answer ${age} ms old was served`);
      if (fresh && number <= before) throw new Error('fresh came from the cache');
      if (!isOut && isAlone && age >= TTL + STALE + slack) {
        throw new Error('too old while the service answers');
      }
      const own = known[by]?.[index] as Known;
      if (number >= (own.held?.number ?? 0)) own.held = { number, slack, disturbances };
    }
  }

  /** Whether a process holds a positive answer that must still serve while the service is down. */
  function mustServe(by: number, index: number): boolean {
    const held = known[by]?.[index]?.held;
    const upTo = withdrawn[index] ?? -1;
    if (!isOut || held === undefined || held.number <= upTo || !backend.isOrdered) return false;
    // Asked for within the same millisecond: once the shared cache is lost, only the times tell which came last.
    const isSameTime = askedAt[held.number] === withdrawnAt[index];
    if (upTo >= 0 && disturbances > 0 && isSameTime) return false;
    // After a disturbance it is not known which of a no and a later yes is the last.
    const isQuiet = held.disturbances === disturbances && states.every((state) => state === 'up');
    if (upTo >= 0 && !isQuiet) return false;
    return now - (askedAt[held.number] ?? 0) + slack < STALE_IF_ERROR;
  }

  function setSells(index: number, isSold: boolean): void {
    if (!isSold) for (const pending of open) pending.isSteady &&= pending.code !== index;
    sells[index] = isSold;
  }

  /** What a process in touch with the shared cache finds there. */
  function learn(n: number, from = stored): void {
    for (const [index, upTo] of from.entries()) {
      const own = known[n]?.[index] as Known;
      own.withdrawnUpTo = Math.max(own.withdrawnUpTo, upTo);
      if (backend.isOrdered) own.doubtfulUpTo = Math.max(own.doubtfulUpTo, doubtful[index] ?? 0);
    }
  }

  /** A process ends, and another one takes its place. */
  async function restart(n: number, isCut: boolean): Promise<void> {
    for (const pending of open) if (pending.by === n) open.delete(pending);
    release(n);
    await processes[n]?.close();
    for (const name of untold.keys()) if (name.startsWith(`${n} `)) untold.delete(name);
    for (const [at, { of, by }] of [...missed.entries()].reverse()) {
      if (of === n || by === n) missed.splice(at, 1);
    }
    const [state = 'up'] = states;
    const isRefused = state !== 'cut' && states.every((each) => each === state);
    links[n] = backend.link();
    states[n] = isCut ? 'cut' : isRefused ? state : 'up';
    startedRefused.delete(n);
    if (states[n] === 'read-only' || states[n] === 'full') startedRefused.set(n, [...withdrawn]);
    links[n].setState(states[n]);
    disturbances++;
    known[n] = nothingKnown();
    certain.fill(0);
    unsentAll.delete(n);
    if (!isCut) learn(n);
    lastAsked[n] = CODES.map(() => 0);
    processes[n] = start(n);
    await (processes[n] as KeyApi).getAccount().catch(() => {});
    await settle();
  }

  try {
    // In touch with the shared cache from the start: one that begins later can hear only what is sent then.
    for (const each of processes) await each.getAccount();
    for (const each of steps) {
      if (each.do === 'ask') await lookUp(each.all);
      else if (each.do === 'answer') await answer();
      else if (each.do === 'guess') {
        for (const index of CODES.keys()) dropped.add(`${each.by} ${index}`);
        // Without an order, what was dropped is compared by clocks that differ.
        for (let n = 0; n < each.count && !isOut && backend.isOrdered; n++) {
          const guess = `wrong-code-${++guesses}`;
          let isDone = false;
          const end = (): void => {
            isDone = true;
          };
          void (processes[each.by] as KeyApi).validatePurchase(guess).then(end, end);
          for (let look = 0; !isDone && look < 500; look++) {
            await settle();
            if (!isDone) await pass(25);
          }
        }
      } else if (each.do === 'ask slowly') {
        slow = each.ask;
        const pending = begin(each.ask);
        const limit = limitOf(pending);
        const isHeld = held.length;
        // Also a refresh in the background.
        await settle();
        for (let look = 0; look < 200 && pending.outcome === undefined; look++) {
          if (held.length > isHeld) break;
          await settle();
          await pass(25);
        }
        slow = undefined;
        if (pending.outcome === undefined) {
          pending.isLate = true;
          open.add(pending);
        } else check(pending, limit, false);
      } else if (each.do === 'restart') {
        // What it could not tell would be lost with it.
        if (![...untold.values()].some(({ by }) => by === each.of)) {
          // What a real timer does later is not waited for.
          await restart(each.of, each.isCut && backend.isPrompt);
        }
      } else if (each.do === 'rotate') {
        // What a process has missed is kept under the secret of that time.
        const isInTouch = states.every((state) => state === 'up') && missed.length === 0;
        if (isInTouch && untold.size === 0) key = `${questions}-${KEY}`;
      } else if (each.do === 'refund') {
        setSells(each.code, false);
        await lookUp([{ by: each.by, code: each.code, fresh: true }]);
        await lookUp([{ by: (each.by + 1) % PROCESSES, code: each.code, fresh: false }]);
      } else if (each.do === 'service') setSells(each.code, each.sells);
      else if (each.do === 'outage') {
        // Late failures would open the breaker again.
        await answer();
        isOut = each.on;
        // The breaker and the pauses of the clients are not what this is about.
        await pass(HOUR / 2);
        for (const process of processes) await process.getAccount({ fresh: true }).catch(() => {});
      } else if (each.do === 'flush') {
        await backend.restartEmpty();
        canLackGeneration = false;
        disturbances++;
        stored.fill(0);
        lose();
        await toldByNow();
      } else if (each.do === 'evict') {
        await backend.evict(each.row);
        canLackGeneration = true;
        disturbances++;
        lose();
      } else if (each.do === 'wait') {
        // No call lasts for hours.
        if (each.milliseconds > MINUTE) await answer();
        await pass(each.milliseconds);
      } else if (each.do === 'step clock') {
        slack += 2 * Math.abs(each.by - (skews[each.of] ?? 0));
        skews[each.of] = each.by;
      } else if (each.do === 'invalidate') {
        const codes = each.code === undefined ? CODES.keys() : [each.code];
        const upTo = questions;
        const isSent = await (processes[each.by] as KeyApi)
          .invalidate(each.code === undefined ? undefined : CODES[each.code])
          .then(
            () => true,
            (error: unknown) => {
              if (!isMarketgateError(error) || error.code !== 'store_unavailable') throw error;
              if (states[each.by] === 'up' && backend.isPrompt) throw error;
              return false;
            },
          );
        await settle();
        if (!isSent && each.code === undefined) unsentAll.add(each.by);
        // Where it rejects, the others are told later, and no sooner.
        for (const index of codes) withdraw(each.by, index, upTo, isSent);
      } else {
        links[each.of]?.setState(each.state);
        states[each.of] = each.state;
        startedRefused.delete(each.of);
        disturbances++;
        // A new generation begins, in which the rows of the last one are not found.
        if (each.state === 'up' && unsentAll.delete(each.of)) lose();
        await toldByNow();
        if (each.state !== 'cut') learn(each.of, certain);
      }
    }
  } finally {
    await Promise.all(processes.map((each) => each.close()));
  }
}

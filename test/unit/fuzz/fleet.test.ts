import fc from 'fast-check';
import { isMarketgateError, KeyApi } from 'marketgate';
import { beforeEach, onTestFinished, vi } from 'vitest';
import { settle } from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { json, page, type Reply, ServiceInMemory } from '../../support/service-in-memory.js';
import { account, item, KEY, purchase, refusal, success } from '../../support/wire.js';
import { FAULTS, HOUR, isLinkFault, Link, MINUTE, moveTimeByHand } from '../cache/support.js';
import { fuzz } from './support/fuzz.js';

/*
 * What the contract promises of a fleet (section 2), for random sequences of lookups, refunds, outages, invalidations and
 * faults, with processes whose clocks are hours apart:
 *
 * - A process that has got a negative answer serves no positive answer that was requested before it. With one fault at a
 *   time, no process does once the fault is over.
 * - In an outage of the service, the last positive answer serves until `staleIfError`, and no answer serves longer.
 * - A row that is evicted before a process has asked about it that was cut off is two faults: that process knows only what
 *   it has heard itself, until it asks the service.
 * - Where the order is in doubt, the negative answer wins: one that could not be sent at once is sent when the fault is
 *   over, and until then a positive answer can have been requested. It is asked about once more, and need not serve in an
 *   outage. Nor need one that came after a negative one, once a connection was lost: that is sent again then, and a process
 *   that has not heard it before knows not which is later.
 */

const TTL = 5 * MINUTE;
const STALE_IF_ERROR = 24 * HOUR;
const SKEWS = [-3 * HOUR, 0, 26 * HOUR];
const CODES = ['first-purchase-code', 'second-purchase-code'];

const by = fc.nat(SKEWS.length - 1);
const code = fc.nat(CODES.length - 1);
const pause = fc.constantFrom(1000, 31_000, 4 * MINUTE, 6 * MINUTE, 2 * HOUR, 23 * HOUR);
const fault = fc.oneof(
  // Of the way of one process to the shared cache, or of all of them (3).
  fc.record({ what: fc.constantFrom(...FAULTS), of: fc.nat(SKEWS.length) }),
  // A row is evicted, or all are; a server takes over that has older ones, or another clock; a process is killed.
  fc.record({
    what: fc.constantFrom('evict', 'empty', 'failover', 'behind', 'ahead', 'kill'),
    of: by,
  }),
);
const does = <Action extends string, More>(action: Action, more: fc.Arbitrary<More>) =>
  more.map((given) => ({ do: action, ...given }));
const step = fc.oneof(
  { weight: 8, arbitrary: does('ask', fc.record({ by, code, fresh: fc.boolean() })) },
  { weight: 2, arbitrary: does('ask all', fc.record({ code })) },
  { weight: 3, arbitrary: does('ask slowly', fc.record({ by, code })) },
  { weight: 2, arbitrary: does('answer', fc.record({})) },
  { weight: 4, arbitrary: does('refund', fc.record({ by, code })) },
  { weight: 3, arbitrary: does('sell', fc.record({ code })) },
  { weight: 2, arbitrary: does('outage', fc.record({ isOut: fc.boolean() })) },
  { weight: 2, arbitrary: does('invalidate', fc.record({ by, code: fc.option(code) })) },
  { weight: 3, arbitrary: does('wait', fc.record({ for: pause })) },
  { weight: 2, arbitrary: does('fault', fc.record({ fault })) },
  { weight: 1, arbitrary: does('heal', fc.record({})) },
);
/** All have the answer about a code when the fault begins, and it is withdrawn meanwhile. */
const episode = fc
  .tuple(code, by, fault, fc.array(step, { maxLength: 5 }), fc.array(step, { maxLength: 5 }))
  .map(([code, by, fault, before, after]): Step[] => [
    ...([
      { do: 'sell', code },
      { do: 'ask all', code },
      { do: 'fault', fault },
    ] as const),
    ...[...before, { do: 'refund', by, code } as const, ...after],
    ...([{ do: 'ask all', code }, { do: 'heal' }, { do: 'ask all', code }] as const),
  ]);
const sequences = fc.array(episode, { minLength: 1, maxLength: 4 }).map((each) => each.flat());
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
type Fault = typeof fault extends fc.Arbitrary<infer F> ? F : never;

/** Requests have numbers; -1 is before all. By code: */
const none = () => CODES.map(() => -1);
const raise = (numbers: number[], index: number, to: number): void => {
  numbers[index] = Math.max(numbers[index] as number, to);
};

interface Process {
  keyApi: KeyApi;
  link: Link;
  /** By code: its last request. */
  readonly asked: number[];
  /** By code: up to which request it must refuse. */
  refused: number[];
  /** By code: the same, of what it has heard itself. */
  heard: number[];
  /** The codes that it has not asked about since it can have missed messages, and those whose row is lost since. */
  readonly behind: Set<number>;
  readonly lost: Set<number>;
  /** By code: the positive answer that it has served last. */
  served: number[];
}

/** A lookup that has begun, and what is known of its answer. */
interface Lookup {
  readonly process: Process;
  readonly code: number;
  readonly fresh: boolean;
  readonly askedBefore: number;
  /** A positive answer must be of a later request than this. */
  after: number;
  end?: { value: unknown } | { error: unknown };
}

class Fleet {
  now = 1_800_000_000_000;
  isOut = false;
  isSlow = false;
  readonly isSold = CODES.map(() => true);
  /** When each request was sent, and whether by a process that could not read the shared cache. */
  readonly requests: { readonly at: number; readonly isApart: boolean }[] = [];
  /** Answers that the service holds back, and the lookups that wait for them. */
  held: (() => void)[] = [];
  late: Lookup[] = [];
  faults: Fault[] = [];
  /** By how much the clock of the shared cache is wrong, and how much that can change the age of an answer. */
  skew = 0;
  slack = MINUTE;
  readonly shared = new MemorySharedCache(() => this.now + this.skew);
  /** Its rows after the last fault. */
  replicated = [...this.shared.rows];
  /** By code: up to which request any process has refused. */
  readonly lastRefused = none();
  /** By code: whether a negative answer waits for the end of a fault, and up to which request one has waited. */
  readonly isInDoubt = CODES.map(() => false);
  readonly doubtedUpTo = none();
  readonly processes = SKEWS.map(
    (_, n): Process => ({
      ...{ ...this.start(n), asked: none(), refused: none(), heard: none(), served: none() },
      ...{ behind: new Set(), lost: new Set() },
    }),
  );

  /** @param pass - lets time pass, for timers and `performance.now`. */
  constructor(
    readonly maxFaults: number,
    readonly pass: (milliseconds: number) => Promise<void>,
  ) {}

  start(n: number): Pick<Process, 'keyApi' | 'link'> {
    const link = new Link(this.shared);
    for (const { what, of } of this.faults) {
      if (isLinkFault(what) && (of === n || of === SKEWS.length)) link.break(what);
    }
    const keyApi = new KeyApi({
      ...{ baseUrl: 'https://market.example', apiKey: KEY, retries: 0, timeout: MINUTE },
      clock: () => this.now + (SKEWS[n] as number),
      fetch: new ServiceInMemory((request) =>
        this.reply(this.processes[n] as Process, request.parameter('purchase_code')),
      ).fetch,
      // As long as a call, as the option says.
      cache: { shared: link, invalidTtl: MINUTE },
    });
    return { link, keyApi };
  }

  /** All clocks and timers go on together, or what rests for two seconds would rest for as long as a fault is mended. */
  async elapse(milliseconds: number): Promise<void> {
    // No timer is for longer than this, and a day of short ones would take long.
    for (let left = milliseconds; left > 0; ) {
      const part = left > 40_000 ? left - 40_000 : Math.min(left, 5000);
      left -= part;
      this.now += part;
      await this.pass(part);
    }
    await settle();
  }

  /** The service's answer about a code, or the account. The number of the request is the version of the item. */
  reply(process: Process, purchase_code: string | null): Reply {
    // It opens no breaker.
    if (this.isOut) return page(200);
    if (purchase_code === null) return json(success({ data: account }));
    const index = CODES.indexOf(purchase_code);
    const isApart = isApartFrom(process);
    const number = this.requests.push({ at: this.now, isApart }) - 1;
    process.asked[index] = number;
    process.lost.delete(index);
    const isSold = this.isSold[index];
    const sold = { ...purchase, purchase_code, item: { ...item, version: `${number}` } };
    const answer = (): Reply => {
      if (isSold) return json(success({ data: { purchase: sold } }));
      this.refuse(process, index, number);
      return json(refusal('Invalid purchase code'));
    };
    if (!this.isSlow) return answer();
    return new Promise((resolve) => this.held.push(() => resolve(answer())));
  }

  /** A process has heard that answers up to a request are invalid. */
  refuse(process: Process, index: number, upTo: number): void {
    if (this.faults.some(({ what }) => isLinkFault(what))) this.isInDoubt[index] = true;
    raise(this.lastRefused, index, upTo);
    raise(process.refused, index, upTo);
    raise(process.heard, index, upTo);
  }

  /** Timers run, so all processes know what any has heard, if nothing is in their way. */
  async tellAll(): Promise<void> {
    await this.elapse(15_000);
    if (this.maxFaults > 1 || this.faults.some(({ what }) => what !== 'behind')) return;
    for (const { refused, lost } of this.processes) {
      for (const [index, upTo] of this.lastRefused.entries()) {
        if (!lost.has(index)) raise(refused, index, upTo);
      }
    }
  }

  begin(process: Process, index: number, fresh: boolean): Lookup {
    const lookup: Lookup = {
      ...{ process, code: index, fresh, askedBefore: process.asked[index] as number },
      after: Math.max(process.refused[index] as number, fresh ? this.requests.length - 1 : -1),
    };
    process.keyApi.validatePurchase(CODES[index] as string, { fresh }).then(
      (value) => {
        lookup.end = { value };
      },
      (error: unknown) => {
        lookup.end = { error };
      },
    );
    return lookup;
  }

  /** Waits for lookups, which can wait for the lock of others and for calls that hang. */
  async finish(lookups: readonly Lookup[]): Promise<void> {
    for (let i = 0; i < 300 && lookups.some(({ end }) => !end); i++) await this.elapse(25);
    await settle();
  }

  async ask(process: Process, index: number, fresh: boolean): Promise<void> {
    const lookup = this.begin(process, index, fresh);
    await this.finish([lookup]);
    if (lookup.end) return this.check(lookup, false);
    // It has joined one that the service has not answered.
    this.late.push(lookup);
    await this.answer();
  }

  async askSlowly(process: Process, index: number): Promise<void> {
    this.isSlow = true;
    this.late.push(this.begin(process, index, true));
    await this.elapse(200);
    this.isSlow = false;
  }

  /** The service gives the answers that it holds back. */
  async answer(): Promise<void> {
    if (this.late.length === 0) return;
    for (const lookup of this.late) {
      // What it is told meanwhile does not count.
      lookup.after = Math.max(lookup.after, lookup.process.refused[lookup.code] as number);
    }
    for (const go of this.held.splice(0)) go();
    await this.finish(this.late);
    for (const lookup of this.late.splice(0)) this.check(lookup, true);
    await this.tellAll();
  }

  /** What breaks a promise, and where. */
  broken({ process, code: index, fresh }: Lookup, what: string): Error {
    const { link } = process;
    const state = [fresh && 'fresh', link.fault, this.isOut && 'outage'].filter(Boolean);
    const who = `process ${this.processes.indexOf(process)} (${state.join(', ') || 'connected'})`;
    return new Error(`${who}, code ${index}: ${what}`);
  }

  /** @throws if the answer breaks a promise. @param isLate - whether much can have happened since the lookup began. */
  check(lookup: Lookup, isLate: boolean): void {
    const { process, code: index, fresh, after, askedBefore, end } = lookup;
    const broken = (what: string) => this.broken(lookup, what);
    if (end === undefined) throw broken('the lookup never ends');
    if (!isLate && process.link.fault === undefined) process.behind.delete(index);
    const hasAsked = (process.asked[index] as number) > askedBefore;
    const last = process.served[index] as number;
    const ageOf = (number: number): number => this.now - (this.requests[number]?.at ?? 0);
    const isCertain = !this.isInDoubt[index] && last > (this.doubtedUpTo[index] as number);
    const isDue = isCertain && last > (this.lastRefused[index] as number) && !fresh && !isLate;
    const mustServe = this.maxFaults === 1 && isDue && ageOf(last) < STALE_IF_ERROR - this.slack;
    if ('error' in end) {
      if (!isMarketgateError(end.error) || (!this.isOut && !isLate)) throw broken(`${end.error}`);
      if (mustServe) throw broken(`answer ${last} does not serve in an outage`);
      return;
    }
    if (end.value === null) {
      const isYes = this.isSold[index] && !this.isOut && hasAsked && !isLate;
      if (isYes) throw broken('a no of a service that said yes');
      if (mustServe && this.isOut) throw broken(`a no in an outage, although ${last} is valid`);
      return;
    }
    const number = Number((end.value as typeof purchase).item.version);
    const longest = (this.isOut || isLate ? STALE_IF_ERROR : TTL + HOUR) + this.slack;
    if (ageOf(number) >= longest) throw broken(`answer ${number} is ${ageOf(number)} ms old`);
    // Nobody could know of that positive answer, so the negative one was shared for `invalidTtl` only.
    const isUnknown = this.isOut && this.requests[number]?.isApart;
    if (number <= after && !isUnknown) throw broken(`answer ${number} is not later than ${after}`);
    process.served[index] = number;
  }

  async invalidate(process: Process, index: number | null): Promise<void> {
    const upTo = this.requests.length - 1;
    let isSent: boolean | undefined;
    const code = index === null ? undefined : CODES[index];
    process.keyApi.invalidate(code).then(
      () => {
        isSent = true;
      },
      () => {
        isSent = false;
      },
    );
    for (let i = 0; i < 40 && isSent === undefined; i++) await this.elapse(25);
    if (!isSent && this.faults.length === 0) throw new Error('an invalidation is not sent');
    for (const each of index === null ? CODES.keys() : [index]) this.refuse(process, each, upTo);
  }

  async disturb(fault: Fault): Promise<void> {
    const { what, of } = fault;
    if (this.faults.length >= this.maxFaults) return;
    // The others go on by the earlier clock, of which a process that starts later can know only from their answers.
    const isBehind = this.faults.some((each) => each.what === 'behind');
    if (isBehind && what === 'kill') return;
    // No lookup lasts from one fault to the next.
    await this.answer();
    this.faults.push(fault);
    const process = this.processes[of];
    if (isLinkFault(what)) {
      for (const { link, behind } of process ? [process] : this.processes) {
        link.break(what);
        if (what !== 'cut' && what !== 'without messages') continue;
        for (const index of CODES.keys()) behind.add(index);
      }
    } else if (what === 'evict') {
      this.shared.rows.delete([...this.shared.rows.keys()][of] ?? '');
      for (const { behind, lost, refused, heard } of this.processes) {
        for (const index of behind) {
          lost.add(index);
          refused[index] = heard[index] as number;
        }
      }
    } else if (what === 'kill') {
      await process?.keyApi.close();
      // With one fault, the shared cache knows what the process has heard.
      const refused = this.maxFaults === 1 && process ? process.refused : none();
      if (process) {
        Object.assign(process, this.start(of), { served: none(), heard: none(), refused });
      }
    } else {
      const stepsBy = { empty: 0, failover: 0, behind: -5 * MINUTE, ahead: HOUR }[what];
      this.skew += stepsBy;
      this.slack += Math.abs(stepsBy);
      if (what === 'empty' || what === 'failover') this.shared.rows.clear();
      if (what === 'failover') for (const row of this.replicated) this.shared.rows.set(...row);
      for (const { link } of this.processes) if (!link.fault) link.reconnect();
      this.doubtRefused();
    }
    await settle();
  }

  /** On reconnecting, negative answers are sent again. */
  doubtRefused(): void {
    for (const [index, upTo] of this.lastRefused.entries()) {
      if (upTo >= 0) this.doubtedUpTo[index] = this.requests.length - 1;
    }
  }

  async heal(): Promise<void> {
    for (const { link } of this.processes) link.mend();
    if (this.faults.some(({ what }) => what === 'cut' || what === 'without messages')) {
      this.doubtRefused();
    }
    // A clock that is behind stays so.
    this.faults = this.faults.filter(({ what }) => what === 'behind');
    await this.tellAll();
    for (const index of CODES.keys()) {
      if (this.isInDoubt[index]) this.doubtedUpTo[index] = this.requests.length - 1;
      this.isInDoubt[index] = false;
    }
    this.replicated = [...this.shared.rows];
  }

  async do(step: Step): Promise<void> {
    // Nothing happens at the same moment as something else.
    await this.elapse(1);
    const process = this.processes['by' in step ? step.by : 0] as Process;
    if (step.do === 'ask') await this.ask(process, step.code, step.fresh);
    else if (step.do === 'ask slowly') await this.askSlowly(process, step.code);
    else if (step.do === 'answer') await this.answer();
    else if (step.do === 'ask all') {
      for (const each of this.processes) await this.ask(each, step.code, false);
    } else if (step.do === 'refund') {
      this.isSold[step.code] = false;
      await this.ask(process, step.code, true);
    } else if (step.do === 'sell') this.isSold[step.code] = true;
    else if (step.do === 'invalidate') await this.invalidate(process, step.code);
    else if (step.do === 'fault') await this.disturb(step.fault);
    else if (step.do === 'heal') await this.heal();
    else {
      await this.answer();
      if (step.do === 'wait') await this.elapse(step.for);
      else this.isOut = step.isOut;
    }
  }

  async close(): Promise<void> {
    for (const go of this.held.splice(0)) go();
    await Promise.all(this.processes.map(({ keyApi }) => keyApi.close()));
  }
}

/** Whether neither reads nor messages reach a process. */
const isApartFrom = ({ link }: Process): boolean => link.fault === 'cut' || link.fault === 'frozen';

moveTimeByHand();
beforeEach(() => {
  // Nobody looks at the stacks of errors that faults cause, and they take a third of the time.
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  onTestFinished(() => {
    Error.stackTraceLimit = limit;
  });
});

for (const [title, maxFaults] of [
  ['a fleet keeps its promises with one fault at a time', 1],
  ['a fleet keeps within its bounds with two faults at a time', 2],
] as const) {
  fuzz(
    title,
    fc.asyncProperty(sequences, async (steps) => {
      let elapsed = 0;
      vi.spyOn(performance, 'now').mockImplementation(() => elapsed);
      const fleet = new Fleet(maxFaults, async (milliseconds) => {
        elapsed += milliseconds;
        await vi.advanceTimersByTimeAsync(Math.min(milliseconds, 5000));
      });
      try {
        for (const { keyApi } of fleet.processes) await keyApi.getAccount();
        for (const [n, step] of [...steps, { do: 'answer' } as const].entries()) {
          await fleet.do(step).catch((error: Error) => {
            error.message = `step ${n} ${JSON.stringify(step)}: ${error.message}`;
            throw error;
          });
        }
      } finally {
        await fleet.close();
      }
    }),
  );
}

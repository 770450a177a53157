import fc from 'fast-check';
import { isMarketgateError, KeyApi } from 'marketgate';
import { settle } from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { json, page, type Reply, ServiceInMemory } from '../../support/service-in-memory.js';
import { account, item, KEY, purchase, refusal, success } from '../../support/wire.js';
import { HOUR, Link, type Fault as LinkFault, MINUTE } from './support.js';

/**
 * What the contract promises of a fleet (section 2), for random sequences of lookups, refunds, outages, invalidations
 * and faults, with processes whose clocks are hours apart:
 *
 * - A process that has heard a negative answer, or was told of one, serves no positive answer that was requested before
 *   it. With more than one fault at a time, such an answer has its usual ages, and never more.
 * - In an outage of the service, the last positive answer serves until `staleIfError`.
 * - Processes share answers: within `ttl`, a code costs one request.
 */

const TTL = 5 * MINUTE;
const STALE_IF_ERROR = 24 * HOUR;
const SKEWS = [-3 * HOUR, 0, 26 * HOUR];
const CODES = ['first-purchase-code', 'second-purchase-code'];

/** Faults that last until they are healed. Those of `One` are about one process, the others about all. */
const LASTING = ['cutOne', 'deafOne', 'cut', 'frozen', 'read-only', 'full'] as const;
const AT_THE_LINK = new Map<Fault, LinkFault>([
  ...[...LASTING].map((fault) => [fault, fault as LinkFault] as const),
  ['cutOne', 'cut'],
  ['deafOne', 'without messages'],
]);
/** Faults of a moment. */
const SUDDEN = ['empty', 'evict', 'behind', 'ahead', 'kill'] as const;
type Fault = (typeof LASTING)[number] | (typeof SUDDEN)[number];

const by = fc.nat(SKEWS.length - 1);
const code = fc.nat(CODES.length - 1);
const one = <T extends string>(name: T) => fc.constant(name);
const fault = fc.constantFrom<Fault>(...LASTING, ...SUDDEN);
const pause = fc.constantFrom(1000, 31_000, 4 * MINUTE, 6 * MINUTE, 2 * HOUR, 23 * HOUR);
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: one('ask'), by, code, fresh: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: one('ask slowly'), by, code }) },
  { weight: 2, arbitrary: fc.record({ do: one('answer') }) },
  { weight: 4, arbitrary: fc.record({ do: one('sell'), code, isSold: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: one('outage'), isOut: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: one('invalidate'), by, code: fc.option(code) }) },
  { weight: 3, arbitrary: fc.record({ do: one('wait'), for: pause }) },
  { weight: 5, arbitrary: fc.record({ do: one('fault'), fault, of: by }) },
  { weight: 4, arbitrary: fc.record({ do: one('heal') }) },
);
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
export const sequences = fc.array(step, { minLength: 8, maxLength: 40, size: 'max' });

/** A process, and what is known of it about each code. Requests have numbers; -1 is before all. */
interface Process {
  keyApi: KeyApi;
  link: Link;
  fault: Fault | undefined;
  /** Its last request. */
  asked: number[];
  /** Up to which request it must refuse. */
  refused: number[];
  /** The same of what it has missed, and learns when it asks the shared cache. */
  missed: number[];
  /** The last positive answer that it has served, and must serve in an outage. */
  served: number[];
}

/** A lookup, and how it ended. */
interface Lookup {
  readonly process: Process;
  readonly code: number;
  readonly fresh: boolean;
  /** How many requests there were before it, and the last one of its process about its code. */
  readonly before: number;
  readonly askedBefore: number;
  readonly isSteady: boolean;
  /** Up to which request its process must refuse. What arrives meanwhile does not count. */
  refusedUpTo: number;
  outcome?: { value: unknown } | { error: unknown };
}

/** Whether messages do not reach a process. */
const isDeaf = ({ fault }: Pick<Process, 'fault'>): boolean =>
  ['cutOne', 'deafOne', 'cut', 'frozen'].includes(fault ?? '');
const canRead = (process: Pick<Process, 'fault'>): boolean =>
  !isDeaf(process) || process.fault === 'deafOne';

function disturbLink(process: Pick<Process, 'fault' | 'link'>, fault: Fault | undefined): void {
  process.link.mend();
  process.fault = fault;
  const atTheLink = fault && AT_THE_LINK.get(fault);
  if (atTheLink) process.link.break(atTheLink);
}

const raise = (numbers: number[], index: number, to: number): void => {
  numbers[index] = Math.max(numbers[index] ?? -1, to);
};

/**
 * Runs one sequence, and throws where a promise is broken.
 * @param maxFaults - how many faults there are at a time. With one, the promise is strict.
 * @param pass - lets time pass, for timers and `performance.now`.
 */
export async function runSequence(
  steps: readonly Step[],
  maxFaults: 1 | 2,
  pass: (milliseconds: number) => Promise<void>,
): Promise<void> {
  let now = 1_800_000_000_000;
  let skew = 0;
  let isOut = false;
  let isSlow = false;
  const sells = CODES.map(() => true);
  /** When each request was sent. Its index is its number, and the version of the item in the answer. */
  const requests: number[] = [now];
  /** The requests of processes that could not ask the shared cache before. */
  const blind = new Set<number>();
  /** Answers that the service holds back. */
  const held: (() => void)[] = [];
  /** Negative answers that have arrived since the last look. */
  const noes: { readonly process: Process; readonly code: number; readonly number: number }[] = [];
  /** What was heard, but not told to all yet. */
  let owed: { readonly process: Process; readonly code: number; readonly upTo: number }[] = [];
  /** Up to which request anybody has refused, also one that has ended. */
  const lastRefused = CODES.map(() => -1);
  /** Until when a code costs no request. */
  const sharedUntil = CODES.map(() => 0);
  const faults = new Map<Fault, number>();
  /** Until when the shared cache's clock is behind what the processes have seen of it. */
  let behindUntil = now;
  /** By how much an answer can look younger than it is. */
  let slack = MINUTE;
  /** Since when there was no fault. */
  let calmSince = now;
  const pending: Lookup[] = [];
  const shared = new MemorySharedCache(() => now + skew);

  const serviceOf = (process: () => Process) =>
    new ServiceInMemory((request): Reply => {
      if (isOut) return page(503);
      if (request.path.endsWith('details')) return json(success({ data: account }));
      const purchase_code = request.parameter('purchase_code') ?? '';
      const index = CODES.indexOf(purchase_code);
      const number = requests.push(now) - 1;
      process().asked[index] = number;
      if (!canRead(process())) blind.add(number);
      const sold = { ...purchase, purchase_code, item: { ...item, version: `${number}` } };
      const isSold = sells[index];
      const deliver = () => {
        if (!isSold) noes.push({ process: process(), code: index, number });
        return json(
          isSold ? success({ data: { purchase: sold } }) : refusal('Invalid purchase code'),
        );
      };
      return isSlow ? new Promise((resolve) => held.push(() => resolve(deliver()))) : deliver();
    });

  const start = (n: number): Pick<Process, 'keyApi' | 'link' | 'fault'> => {
    const link = new Link(shared);
    const started = { link, fault: undefined };
    for (const [fault, of] of faults)
      if (!fault.endsWith('One') || of === n) disturbLink(started, fault);
    const keyApi = new KeyApi({
      ...{ baseUrl: 'https://market.example', apiKey: KEY, retries: 0, timeout: MINUTE },
      clock: () => now + (SKEWS[n] as number),
      dispatcher: serviceOf(() => processes[n] as Process),
      cache: { shared: link },
    });
    return { ...started, keyApi };
  };
  const none = () => CODES.map(() => -1);
  const processes: Process[] = SKEWS.map((_, n) => ({
    ...start(n),
    ...{ asked: none(), refused: none(), missed: none(), served: none() },
  }));

  const elapse = async (milliseconds: number): Promise<void> => {
    now += milliseconds;
    await pass(milliseconds);
    await settle();
  };

  /** Ends lookups, which can wait for the lock of others and for hanging calls. */
  const finish = async (all: readonly Lookup[]): Promise<void> => {
    for (let i = 0; i < 300 && all.some(({ outcome }) => !outcome); i++) await elapse(25);
    await settle();
  };

  const countFaults = (): number => faults.size + (now < behindUntil ? 1 : 0);

  /** A process has heard that answers up to a request are invalid. The others know, if they can be told. */
  const hear = (process: Process, index: number, upTo: number, isSent = true): void => {
    raise(process.refused, index, upTo);
    raise(lastRefused, index, upTo);
    sharedUntil[index] = 0;
    const isCut = !canRead(process) || faults.has('cut') || faults.has('frozen');
    // A no that was requested while Redis could not be asked is sent by the timer.
    const isTold = isSent && !isCut && !blind.has(upTo);
    if (!isTold || faults.size > 0) owed.push({ process, code: index, upTo });
    // Where a second fault can follow, only the ages are promised of the others.
    if (!isTold || (maxFaults > 1 && countFaults() > 0)) return;
    for (const each of processes) raise(isDeaf(each) ? each.missed : each.refused, index, upTo);
  };

  const hearNoes = (): void => {
    for (const { process, code: index, number } of noes.splice(0)) hear(process, index, number);
  };

  /** What is owed is told by now, by timers and on reconnecting. */
  const settleDebts = async (): Promise<void> => {
    hearNoes();
    await elapse(15_000);
    hearNoes();
    if (faults.size > 0) return;
    calmSince = now;
    for (const { code: index, upTo } of maxFaults === 1 ? owed : []) {
      for (const { missed } of processes) raise(missed, index, upTo);
    }
    owed = [];
  };

  const begin = (process: Process, index: number, fresh: boolean): Lookup => {
    if (canRead(process)) raise(process.refused, index, process.missed[index] as number);
    const lookup: Lookup = {
      ...{ process, code: index, fresh, before: requests.length },
      askedBefore: process.asked[index] as number,
      isSteady: sells[index] === true && !isOut,
      refusedUpTo: process.refused[index] as number,
    };
    process.keyApi.validatePurchase(CODES[index] as string, { fresh }).then(
      (value) => {
        lookup.outcome = { value };
      },
      (error: unknown) => {
        lookup.outcome = { error };
      },
    );
    return lookup;
  };

  const check = (lookup: Lookup, isLate: boolean): void => {
    const { process, code: index, fresh, outcome } = lookup;
    hearNoes();
    if (outcome === undefined) throw new Error('a lookup that never ends');
    const hasAsked = (process.asked[index] as number) > lookup.askedBefore;
    const last = process.served[index] as number;
    const ageOf = (number: number): number => now - (requests[number] as number);
    const isDue = !fresh && !isLate && last > (lastRefused[index] as number);
    // With two faults, only the ages are promised.
    const isPromised = maxFaults === 1 || (requests[last] ?? 0) >= calmSince;
    const mustServe =
      isPromised && isOut && last >= 0 && isDue && ageOf(last) < STALE_IF_ERROR - slack;
    if ('error' in outcome) {
      if (!isMarketgateError(outcome.error) || (!isOut && !isLate)) throw outcome.error;
      if (mustServe) throw new Error(`answer ${last} does not serve in an outage`);
      return;
    }
    if (outcome.value === null) {
      if (lookup.isSteady && !isLate && hasAsked)
        throw new Error('a no of a service that said yes');
      if (mustServe) throw new Error(`a no in an outage, although answer ${last} was not refused`);
      return;
    }
    const number = Number((outcome.value as typeof purchase).item.version);
    const limit = isOut || isLate ? STALE_IF_ERROR : TTL + HOUR;
    if (ageOf(number) >= limit + slack)
      throw new Error(`answer ${number} is ${ageOf(number)} ms old`);
    // Nobody could know of the positive answer, so the negative one was shared for a short time.
    const isUnknown = isOut && blind.has(number);
    if (number <= lookup.refusedUpTo && !isUnknown)
      throw new Error(`answer ${number} was served, although ${lookup.refusedUpTo} was refused`);
    if (fresh && number < lookup.before) throw new Error('fresh came from a cache');
    const isShared = faults.size === 0 && now < (sharedUntil[index] as number);
    if (!fresh && !isLate && isShared && hasAsked)
      throw new Error('a request for an answer that is shared');
    process.served[index] = number;
    const askedAt = requests[number] as number;
    if (!isLate && askedAt >= calmSince) sharedUntil[index] = askedAt + TTL - MINUTE;
  };

  /** The service gives the answers that it holds back. */
  const answer = async (): Promise<void> => {
    hearNoes();
    for (const lookup of pending)
      lookup.refusedUpTo = lookup.process.refused[lookup.code] as number;
    for (const go of held.splice(0)) go();
    await finish(pending);
    for (const lookup of pending.splice(0)) check(lookup, true);
  };

  const heal = async (fault: Fault): Promise<void> => {
    faults.delete(fault);
    const [other] = faults.keys();
    for (const each of processes)
      if (each.fault === fault) disturbLink(each, other?.endsWith('One') ? undefined : other);
    await settleDebts();
  };

  const disturb = async (fault: Fault, of: number): Promise<void> => {
    if (countFaults() >= maxFaults || faults.has(fault)) return;
    // A failover that nobody can read of is more than two faults.
    if (fault === 'behind' && faults.size > 0) return;
    // A process that starts later does not know of the earlier clock, by which the others go on.
    if (fault === 'kill' && skew < 0) return;
    // No lookup lasts from one fault to the next.
    await answer();
    hearNoes();
    const isLasting = LASTING.some((each) => each === fault);
    // What is sudden needs the tellers alive and the shared cache up, or it is a second fault.
    if (!isLasting && maxFaults === 1 && (faults.size > 0 || owed.length > 0)) return;
    sharedUntil.fill(0);
    calmSince = Number.POSITIVE_INFINITY;
    if (isLasting) {
      faults.set(fault, of);
      for (const [n, each] of processes.entries())
        if (!fault.endsWith('One') || n === of) disturbLink(each, fault);
      return settle();
    }
    if (fault === 'kill') {
      const process = processes[of] as Process;
      await process.keyApi.close();
      owed = owed.filter((each) => each.process !== process);
      // With one fault, the shared cache knows what the process has heard.
      Object.assign(process, start(of), { served: none() }, maxFaults > 1 && { refused: none() });
      void process.keyApi.getAccount().catch(() => {});
      await elapse(500);
    } else if (fault === 'evict') {
      shared.rows.delete([...shared.rows.keys()][of] ?? '');
    } else {
      if (fault === 'empty') shared.rows.clear();
      if (fault === 'ahead') skew += HOUR;
      if (fault === 'behind') {
        skew -= 5 * MINUTE;
        slack += 5 * MINUTE;
        behindUntil = now + 6 * MINUTE;
      }
      for (const each of processes) if (!isDeaf(each)) each.link.reconnect();
    }
    await settleDebts();
  };

  const invalidate = async (process: Process, index: number | null): Promise<void> => {
    const upTo = requests.length - 1;
    let isSent: boolean | undefined;
    const settled = (is: boolean) => () => {
      isSent = is;
    };
    const text = index === null ? undefined : CODES[index];
    void process.keyApi.invalidate(text).then(settled(true), settled(false));
    for (let i = 0; i < 40 && isSent === undefined; i++) await elapse(25);
    if (isSent !== true && faults.size === 0) throw new Error('an invalidation is not sent');
    for (const each of index === null ? CODES.keys() : [index]) hear(process, each, upTo, isSent);
  };

  try {
    for (const { keyApi } of processes) await keyApi.getAccount();
    for (const each of steps) {
      // Nothing happens at the same moment as something else.
      await elapse(1);
      const process = processes['by' in each ? each.by : 0] as Process;
      if (each.do === 'ask') {
        const lookup = begin(process, each.code, each.fresh);
        await finish([lookup]);
        if (lookup.outcome !== undefined) check(lookup, false);
        else {
          // It has joined one that the service has not answered.
          pending.push(lookup);
          await answer();
        }
      } else if (each.do === 'ask slowly') {
        isSlow = true;
        pending.push(begin(process, each.code, true));
        await settle();
        await elapse(200);
        isSlow = false;
      } else if (each.do === 'answer') await answer();
      else if (each.do === 'sell') sells[each.code] = each.isSold;
      else if (each.do === 'outage') {
        await answer();
        isOut = each.isOut;
        // The breaker is not what this is about.
        await elapse(HOUR / 2);
        for (const { keyApi } of processes) void keyApi.getAccount({ fresh: true }).catch(() => {});
        await elapse(15_000);
      } else if (each.do === 'invalidate') await invalidate(process, each.code);
      else if (each.do === 'wait') {
        if (each.for > MINUTE) await answer();
        await elapse(each.for);
      } else if (each.do === 'fault') await disturb(each.fault, each.of);
      else for (const fault of [...faults.keys()]) await heal(fault);
      hearNoes();
    }
    await answer();
  } finally {
    for (const go of held.splice(0)) go();
    await Promise.all(processes.map(({ keyApi }) => keyApi.close()));
  }
}

import fc from 'fast-check';
import { isMarketgateError, KeyApi, type SharedCache } from 'marketgate';
import { json, page, type Reply, ServiceInMemory } from '../support/service-in-memory.js';
import { account, item, KEY, purchase, refusal, success } from '../support/wire.js';

/**
 * A fleet against a model of what the contract promises of it (section 2): several processes, one shared
 * cache, and a random sequence of lookups, refunds, outages, invalidations, faults and clock steps.
 */

/** The link of one process to the shared cache, which can be cut or refuse writes. */
export interface Link extends SharedCache {
  /** Cuts it, or makes it refuse what a full or read-only server refuses. */
  setState(state: LinkState): void;
}

export type LinkState = 'up' | 'cut' | 'read-only';

/** What the processes share. */
export interface Backend {
  link(): Link;
  /** Whether it always answers in time, also on a busy machine. */
  readonly isPrompt: boolean;
  /** Forgets all rows and cuts all connections for a moment, as a server that restarts empty. */
  restartEmpty(): Promise<void>;
}

export const PROCESSES = 3;
const CODES = ['first-purchase-code', 'second-purchase-code'] as const;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TTL = 5 * MINUTE;
const STALE = HOUR;
const STALE_IF_ERROR = 24 * HOUR;

type Step =
  | { readonly do: 'ask'; readonly by: number; readonly code: number; readonly fresh: boolean }
  | { readonly do: 'invalidate'; readonly by: number; readonly code: number | undefined }
  | { readonly do: 'service'; readonly code: number; readonly sells: boolean }
  | { readonly do: 'outage'; readonly on: boolean }
  | { readonly do: 'link'; readonly of: number; readonly state: LinkState }
  | { readonly do: 'flush' }
  | { readonly do: 'wait'; readonly milliseconds: number }
  | { readonly do: 'step clock'; readonly of: number; readonly by: number };

const process = fc.nat(PROCESSES - 1);
const code = fc.nat(CODES.length - 1);

const ask = fc.record({ do: fc.constant('ask' as const), by: process, code, fresh: fc.boolean() });

/** One step; lookups are the most frequent. */
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: ask },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('invalidate' as const),
      by: process,
      code: fc.option(code, { nil: undefined }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('service' as const), code, sells: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('outage' as const), on: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('link' as const),
      of: process,
      state: fc.constantFrom<LinkState>('up', 'up', 'cut', 'read-only'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flush' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      milliseconds: fc.constantFrom(1000, 31_000, 6 * MINUTE, 2 * HOUR, 23 * HOUR),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('step clock' as const),
      of: process,
      by: fc.constantFrom(-5 * MINUTE, -3 * HOUR, 5 * MINUTE),
    }),
  },
);

export const sequences = fc.array(step, { minLength: 5, maxLength: 40 });

/** What one process must know of one code. */
interface Known {
  /** The number of the last question whose answer is withdrawn: it must not be served. */
  withdrawnUpTo: number;
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
  const sells = CODES.map(() => true);
  /** Questions about codes, numbered over all processes: the version of an answer is its number. */
  let questions = 0;
  const askedAt: number[] = [];
  const links = Array.from({ length: PROCESSES }, () => backend.link());
  const states: LinkState[] = links.map(() => 'up');
  const skews = links.map(() => 0);
  const known: Known[][] = links.map(() => CODES.map(() => ({ withdrawnUpTo: 0 })));
  /** Withdrawals that a process could not tell the others yet, by process and code. */
  const untold = new Map<string, { by: number; code: number; upTo: number }>();

  const service = new ServiceInMemory((request): Reply => {
    if (request.path === '/api/account/details') {
      return isOut ? page(503) : json(success({ data: account }));
    }
    const wanted = request.parameter('purchase_code') ?? '';
    const index = CODES.indexOf(wanted as (typeof CODES)[number]);
    const number = ++questions;
    askedAt[number] = now;
    if (isOut) return page(503);
    if (!sells[index]) return json(refusal('Invalid purchase code'), 404);
    const sold = { ...purchase, purchase_code: wanted, item: { ...item, version: `${number}` } };
    return json(success({ data: { purchase: sold } }));
  });
  const processes = links.map(
    (shared, n) =>
      new KeyApi({
        baseUrl: 'https://market.example',
        apiKey: KEY,
        retries: 0,
        clock: () => now + (skews[n] ?? 0),
        dispatcher: service,
        cache: { shared },
      }),
  );

  /** A process has heard a real no, or was told to forget: the others must know, or will. */
  function withdraw(by: number, index: number, upTo: number, isHeard = true): void {
    const own = known[by]?.[index] as Known;
    own.withdrawnUpTo = Math.max(own.withdrawnUpTo, upTo);
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

  function tell(by: number, index: number, upTo: number, isStored: boolean): void {
    for (const [n, each] of known.entries()) {
      const isInTouch = n === by || states[n] !== 'cut';
      const other = each[index] as Known;
      if (isInTouch) other.withdrawnUpTo = Math.max(other.withdrawnUpTo, upTo);
      else if (isStored) missed.push({ of: n, by, code: index, upTo });
    }
  }

  /** The shared cache has forgotten everything: those that told it tell it again. */
  function lose(): void {
    for (const { by, code: index, upTo } of missed.splice(0)) {
      const name = `${by} ${index}`;
      untold.set(name, { by, code: index, upTo: Math.max(upTo, untold.get(name)?.upTo ?? 0) });
    }
  }

  /** Everything that is told later is told by then, by the timer if not on reconnecting. */
  async function toldByNow(): Promise<void> {
    await wait(40_000);
    await settle();
    for (const [name, { by, code: index, upTo }] of untold) {
      if (states[by] !== 'up') continue;
      untold.delete(name);
      tell(by, index, upTo, true);
    }
    for (const [n, { of, code: index, upTo }] of [...missed.entries()].reverse()) {
      if (states[of] === 'cut') continue;
      const own = known[of]?.[index] as Known;
      own.withdrawnUpTo = Math.max(own.withdrawnUpTo, upTo);
      missed.splice(n, 1);
    }
  }

  async function lookUp(by: number, index: number, fresh: boolean): Promise<void> {
    const before = questions;
    const asked = CODES[index] as string;
    const found = await (processes[by] as KeyApi).validatePurchase(asked, { fresh }).then(
      (value) => value,
      (error: unknown) => error,
    );
    await settle();
    if (found === null) {
      if (sells[index] && questions > before) throw new Error('a no, though the service said yes');
      // Only a question of its own is a no that this process has heard.
      if (questions > before) withdraw(by, index, questions - 1);
      return;
    }
    if (found instanceof Error) {
      if (!isMarketgateError(found)) throw found;
      if (!isOut && found.code !== 'service_unavailable') throw found;
      return;
    }
    const number = Number((found as typeof purchase).item.version);
    const withdrawnUpTo = known[by]?.[index]?.withdrawnUpTo ?? 0;
    if (number <= withdrawnUpTo) {
      throw new Error(`answer ${number} was served, though ${withdrawnUpTo} was withdrawn`);
    }
    // No process can tell how wrong the clock of another is: ages are known to within the steps.
    const age = now - (askedAt[number] ?? 0);
    const steps = Math.max(...skews.map(Math.abs)) * 2;
    if (age >= STALE_IF_ERROR + steps) throw new Error(`an answer ${age} ms old was served`);
    if (!isOut && fresh && number <= before) throw new Error('fresh was answered from the cache');
    if (!isOut && age >= TTL + STALE + steps) throw new Error('too old while the service answers');
  }

  try {
    // In touch with the shared cache from the start: one that begins later can hear only what is sent then.
    for (const each of processes) await each.getAccount();
    for (const each of steps) {
      if (each.do === 'ask') await lookUp(each.by, each.code, each.fresh);
      else if (each.do === 'service') sells[each.code] = each.sells;
      else if (each.do === 'outage') {
        isOut = each.on;
        // The breaker and the pauses of the clients are not what this is about.
        now += HOUR / 2;
      } else if (each.do === 'flush') {
        await backend.restartEmpty();
        lose();
        await toldByNow();
      } else if (each.do === 'wait') {
        now += each.milliseconds;
        await wait(Math.min(each.milliseconds, 31_000));
      } else if (each.do === 'step clock') {
        skews[each.of] = Math.max(-3 * HOUR, Math.min(5 * MINUTE, each.by));
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
        // Where it rejects, the others are told later, and no sooner.
        for (const index of codes) withdraw(each.by, index, upTo, isSent);
      } else {
        links[each.of]?.setState(each.state);
        states[each.of] = each.state;
        await toldByNow();
      }
    }
  } finally {
    await Promise.all(processes.map((each) => each.close()));
  }
}

import { monotonic } from '../../deadline.js';
import { type GuessLimitSettings, type Reservation, TOTAL } from './guess-limit.js';

/** Clients that are remembered at most. */
const MOST_CLIENTS = 100_000;
/** Clients at which those without a recent attempt are first looked for. */
const FIRST_SWEEP = 1024;

/**
 * The failed attempts of the last while, by client. Limits that share a log count together, whatever
 * their `limit` and `windowMs`: each looks at its own length of time.
 */
export class AttemptLog {
  readonly #clock = monotonic(() => Date.now());
  /** Times of attempts, the oldest first. The client with the latest attempt is the last. */
  readonly #clients = new Map<string, number[]>();
  readonly #all: number[] = [];
  /** The longest window and the highest limit that were asked for: beyond them nothing is kept. */
  #longest = 0;
  #highest = 0;
  #sweepAt = FIRST_SWEEP;

  /** How many clients are remembered. */
  get size(): number {
    return this.#clients.size;
  }

  /** Takes one attempt of a client, if there is one left. */
  reserve(
    client: string,
    { limit, windowMs }: Pick<GuessLimitSettings, 'limit' | 'windowMs'>,
  ): Reservation {
    this.#longest = Math.max(this.#longest, windowMs);
    this.#highest = Math.max(this.#highest, limit);
    const now = this.#clock();
    const since = now - windowMs;
    const own = this.#clients.get(client) ?? [];
    const hasFailed = isAfter(since, own.at(-1));
    const blocking = [own.at(-limit), hasFailed ? this.#all.at(-limit * TOTAL) : undefined].filter(
      (at) => isAfter(since, at),
    );
    if (blocking.length > 0) {
      const until = Math.max(...(blocking as number[])) + windowMs;
      return { isAllowed: false, retryAfter: Math.max(1, Math.ceil((until - now) / 1000)) };
    }
    this.#clients.delete(client);
    if (this.#clients.size >= this.#sweepAt) this.#sweep(now);
    this.#clients.set(client, own);
    this.#add(own, now, 1);
    this.#add(this.#all, now, TOTAL);
    return {
      isAllowed: true,
      refund: async () => {
        remove(own, now);
        remove(this.#all, now);
        if (own.length === 0 && this.#clients.get(client) === own) this.#clients.delete(client);
      },
    };
  }

  #add(times: number[], now: number, factor: number): void {
    times.push(now);
    // Some more than count, so that a refund uncovers no gap.
    const most = this.#highest * factor * 2;
    while (times.length > most || (times[0] as number) <= now - this.#longest) times.shift();
  }

  /** Forgets many clients at a time, so that a crowd does not cost a look at all of them each. */
  #sweep(now: number): void {
    for (const [client, times] of this.#clients) {
      const isRecent = isAfter(now - this.#longest, times.at(-1));
      if (isRecent && this.#clients.size <= MOST_CLIENTS * 0.9) break;
      this.#clients.delete(client);
    }
    this.#sweepAt = Math.max(FIRST_SWEEP, Math.min(MOST_CLIENTS, this.#clients.size * 2));
  }
}

const isAfter = (since: number, at: number | undefined): boolean => at !== undefined && at > since;

function remove(times: number[], at: number): void {
  const index = times.lastIndexOf(at);
  if (index !== -1) times.splice(index, 1);
}

import { wait } from '../deadline.js';
import type { LookupMessage } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import type { AppId } from '../options.js';
import type { Answer, Answers, Kept } from './answers.js';
import { InFlight } from './in-flight.js';
import type { Found, SharedTier } from './shared-tier.js';

/** How many times a lookup asks when each answer is invalidated before it arrives. */
const MAX_ROUNDS = 3;
/** How long to wait before looking again for the answer of another process, in milliseconds. */
const POLL = 25;

/** Why a lookup begins. */
export interface Cause {
  /** Whether a caller has passed `fresh`. */
  readonly isFresh: boolean;
  /** Whether it renews an answer that is served meanwhile. */
  readonly isRefresh: boolean;
  /** Who has caused it. */
  readonly client: AppId;
}

/** Options of one request to the service. */
export interface RequestOptions extends Cause {
  /** Ends the request: its last caller has left, or the client was closed. */
  readonly signal: AbortSignal;
  /** Whether a positive answer is known, or can be, which a negative one would invalidate. */
  readonly hadPositive: boolean;
  /** Milliseconds of the call that have elapsed. */
  readonly elapsed: number;
  /** Must be called right before each request to the service. */
  readonly onSend: () => void;
}

export type Ask<T> = (spelling: string, options: RequestOptions) => Promise<T | null>;

/**
 * A lookup that has begun and has no answer yet: what is known, the lock, the service, keep, share. Callers join it. The rules
 * of the fleet are on one page, in shared-tier.ts.
 */
export class Lookup<T extends object> {
  /** Where it looks, and so where its answer or failure comes from. */
  #source: LookupMessage['source'] = 'cache';
  /** Whether the service was asked. */
  isAsked = false;
  /** The place of its request to the service, in the order of requests. */
  order = Number.POSITIVE_INFINITY;
  /** What invalidations call its key. */
  readonly subject: string;
  readonly #sharedTier: SharedTier | undefined;
  readonly #begunAt = performance.now();
  /** What the shared tier had in this round. `undefined`: there is no such tier, or it cannot be read. */
  #found: Found | undefined;
  /** Whether a positive answer was known when the service was asked, or can have been. */
  #hadPositive = false;
  /** Releases the lock in the shared tier. */
  #release: (() => void) | undefined;

  readonly #inFlight: InFlight<Answer<T>>;

  /** @param key - the spelling in lower case. @param onEnd - called with the error of one that has failed. */
  constructor(
    private readonly answers: Answers<T>,
    private readonly ask: Ask<T>,
    readonly spelling: string,
    private readonly key: string,
    readonly cause: Cause,
    onEnd: (error?: unknown) => void,
  ) {
    this.subject = answers.subjectOf(key);
    this.#sharedTier = answers.parts.sharedTier;
    this.#inFlight = new InFlight(() => this.#run(), onEnd);
  }

  /** Ends it: its last caller has left. Node.js makes a signal when it is first asked for, and an answer of the shared cache needs none. */
  get signal(): AbortSignal {
    return this.#inFlight.signal;
  }

  join(signal?: AbortSignal): Promise<Answer<T>> {
    return this.#inFlight.join(signal);
  }

  async #run(): Promise<Answer<T>> {
    try {
      const answer = await this.#find();
      this.answers.report(this.#source, answer);
      return answer;
    } catch (error) {
      this.answers.report(this.#source, undefined, error);
      throw error;
    } finally {
      this.#release?.();
    }
  }

  /** Asks again while an answer is invalidated before it arrives. */
  async #find(): Promise<Answer<T>> {
    for (let round = 0; round < MAX_ROUNDS; ) {
      const known = await this.#known();
      if (known && !this.cause.isFresh) return known;
      // One process asks, and the others wait for what it shares.
      if (await this.#lockOrWait()) continue;
      round++;
      const answer = await this.#settle(await this.#ask());
      if (answer) return answer;
    }
    throw new MarketgateError(
      'service_unavailable',
      'KeyApi: each answer was invalidated before it arrived; try again',
    );
  }

  /**
   * What the other processes have; if it cannot be read, what this one has got meanwhile. Read for `fresh` too, because what
   * was known before decides what a negative answer does.
   */
  async #known(): Promise<Answer<T> | undefined> {
    this.#found = await this.#sharedTier?.read(this.subject);
    this.#source = this.#found ? 'shared' : 'cache';
    return this.#found
      ? this.answers.adopt(this.spelling, this.key, this.#found)
      : this.answers.withoutSharedTier(this.key);
  }

  /** Takes the lock, or waits a moment while another process has it. @returns whether to look again. */
  async #lockOrWait(): Promise<boolean> {
    const tier = this.#sharedTier;
    if (!tier || !this.#found || this.cause.isFresh || this.#release) return false;
    const lock = await tier.lock(this.subject);
    const isTimeLeft = performance.now() - this.#begunAt < tier.longestWait;
    // The process that had the lock can have shared its answer in between.
    if (typeof lock === 'function') this.#release = lock;
    else if (lock === 'taken' && isTimeLeft && !this.signal.aborted) await wait(POLL);
    else return false;
    return true;
  }

  /** Asks the service. */
  async #ask(): Promise<Kept<T> | Kept<null>> {
    const { orders, clock, freeze } = this.answers.parts;
    const { spelling, signal } = this;
    // Where the shared tier cannot be read, another process can have one.
    const isKnownElsewhere = this.#found ? this.#found.hadPositive : this.#sharedTier !== undefined;
    this.#hadPositive = isKnownElsewhere || this.answers.positive(this.key) !== undefined;
    const order = orders.next();
    let sent = order;
    const at = clock();
    const validIn = this.#sharedTier?.epoch ?? 0;
    this.#source = 'service';
    this.order = order;
    const onSend = (): void => {
      this.isAsked = true;
      sent = orders.next();
    };
    const elapsed = performance.now() - this.#begunAt;
    // Nobody is counted for what the lookup asks again by itself.
    const client = this.isAsked ? undefined : this.cause.client;
    const hadPositive = this.#hadPositive;
    const options = { ...this.cause, client, signal, hadPositive, elapsed, onSend };
    const value = await this.ask(spelling, options);
    // Spelled out, because V8 keeps a copy of another object in more memory.
    if (value !== null) return { value: freeze(value), at, order, spelling, validIn };
    // In doubt the negative answer is the later one. So it is ordered by the last of several attempts, and by the latest
    // time that the shared cache's clock can have had then.
    return { value, at, order: sent + (this.#found?.lag ?? 0), spelling, validIn };
  }

  /** Keeps and shares the service's answer. @returns what is served. `undefined`: it was invalidated before it arrived. */
  async #settle(answer: Kept<T> | Kept<null>): Promise<Answer<T> | undefined> {
    const { answers, key, subject } = this;
    // Another lookup has asked later, and its answer counts. Where a message that invalidates it can have been missed, the
    // shared tier knows.
    const later = answers.positive(key);
    if (later !== undefined && later.order > answer.order) {
      return notEarlier(answer, answers.mustAsk(later) ? await this.#known() : later);
    }
    if (answers.parts.orders.isInvalid(subject, answer.order)) {
      // Whoever has asked gets a negative answer, and whoever comes next asks again.
      return answer.value === null ? answer : undefined;
    }
    answers.keep(key, answer);
    return this.#sharedTier ? this.#share(this.#sharedTier, answer) : answer;
  }

  async #share(
    sharedTier: SharedTier,
    answer: Kept<T> | Kept<null>,
  ): Promise<Answer<T> | undefined> {
    const { answers, key, subject } = this;
    // Another lookup can change it meanwhile.
    const { value, order, spelling, validIn } = answer;
    const content = { value, spelling, isTombstone: value === null && this.#hadPositive };
    // Nothing else than a code opens a door.
    if (answers.parts.what !== 'purchase') {
      if (this.#found) await sharedTier.shareByTtl(subject, order, content, this.#found);
      return answer;
    }
    const isLate = await sharedTier.share(subject, order, content, this.#found);
    // Messages since the request was sent can have been missed. While the shared cache rests, to read it again would only
    // ask the app for its api_key once more.
    const hasMissed = !sharedTier.isResting && sharedTier.mayHaveMissedSince(validIn);
    if (isLate || hasMissed) {
      const now = await sharedTier.read(subject);
      const known = now && answers.adopt(this.spelling, key, now);
      if (value === null) return known ?? answer;
      // A later answer is cached by now. Only the missed messages would tell whether this one was invalidated in between.
      if (hasMissed && answers.positive(key) !== answer) return notEarlier(answer, known);
    }
    const isInvalid = value !== null && answers.parts.orders.isInvalid(subject, order);
    return isInvalid ? undefined : answer;
  }
}

/**
 * What is served in place of an answer, if it was not requested earlier. The order alone does not tell, where the answer was
 * requested before the shared cache's time was known.
 */
const notEarlier = <T>(answer: Answer<T>, known: Answer<T> | undefined): Answer<T> | undefined =>
  known && known.at >= answer.at ? known : undefined;

import { Asking } from './asking.js';
import { type GuardedSharedCache, UNAVAILABLE, withinDeadline } from './guarded-shared-cache.js';
import { Sealer } from './sealer.js';

/** Invalidations that are remembered while they cannot be told; more, and everything is invalid. */
const MOST_UNTOLD = 1000;

const INVALIDATION = 'invalidation';
const EVERYTHING = 'everything';

/** Tells a cache of this process to forget a key, or all. */
export type OnForget = (kind: string, key: string | undefined) => void;

/** What invalidations rest on, beside the shared cache. */
export interface InvalidationsOptions {
  readonly clock: () => number;
  /** How long a shared answer lives at most, in milliseconds, and so the word that all are invalid. */
  readonly life: number;
  readonly secret: () => string | Promise<string>;
  readonly onForget: OnForget;
}

/**
 * What the processes of a fleet tell each other to forget. Sealed like the answers, so that nobody
 * else can make a fleet forget; and nothing of the shared cache is believed before this process listens,
 * or while it could not tell the others.
 */
export class FleetInvalidations {
  readonly #shared: GuardedSharedCache;
  readonly #options: InvalidationsOptions;
  readonly #asking = new Set<Asking>();
  /** Invalidations that the shared cache could not be told: its rows of these are not believed. */
  readonly #untold = new Set<string>();
  #sealer: { readonly secret: string; readonly sealer: Sealer } | undefined;
  /** Answers that were asked for until then were all invalidated, in epoch milliseconds. */
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(shared: GuardedSharedCache, options: InvalidationsOptions) {
    this.#shared = shared;
    this.#options = options;
  }

  /**
   * The sealer of this fleet, once this process hears what the others invalidate. `undefined` when the
   * secret cannot be had at once: then this call does without the fleet.
   */
  open(): Sealer | Promise<Sealer | undefined> {
    const secret = this.#options.secret();
    // The way of nearly every call: nothing to wait for.
    if (this.#sealer?.secret === secret && this.#shared.isSubscribed) return this.#sealer.sealer;
    return this.#prepare(secret);
  }

  async #prepare(given: string | Promise<string>): Promise<Sealer | undefined> {
    const secret = await withinDeadline(async () => given);
    if (secret === UNAVAILABLE) return undefined;
    await this.#shared.subscribe((message) => this.#hear(message));
    if (this.#sealer?.secret !== secret) {
      this.#sealer = { secret, sealer: new Sealer(secret) };
      await this.#readEverything(this.#sealer.sealer);
    }
    return this.#sealer.sealer;
  }

  /** Whether the shared answer to this is not to be believed, for an invalidation is not told yet. */
  isUntold(subject: string): boolean {
    return this.#untold.has(subject);
  }

  /** Whether an answer of then has been invalidated with all others. */
  isOver(at: number): boolean {
    return at <= this.#notBefore;
  }

  /** Begins a question whose answer an invalidation can make unfit to be shared. */
  ask(subject: string): Asking {
    const asking = new Asking(subject);
    this.#asking.add(asking);
    return asking;
  }

  /** Ends one. */
  asked(asking: Asking): void {
    this.#asking.delete(asking);
  }

  /** Makes every process forget the answer to one question. */
  async forget(subject: string): Promise<void> {
    this.#outdate(subject);
    this.#untold.add(subject);
    if (this.#untold.size > MOST_UNTOLD) await this.forgetAll();
    else await this.#tell(subject);
  }

  /** Makes every process, also one that joins later, forget everything that was asked for until now. */
  async forgetAll(): Promise<void> {
    this.#notBefore = this.#options.clock();
    this.#outdate(undefined);
    this.#untold.clear();
    this.#untold.add(EVERYTHING);
    await this.#tell(EVERYTHING);
  }

  /** Says that the answer to a question is another now. */
  async announce(subject: string): Promise<boolean> {
    const sealer = await this.open();
    return sealer !== undefined && this.#shared.publish(sealer.seal(INVALIDATION, subject));
  }

  /** Tells an invalidation; what cannot be told is tried again when the shared cache is back. */
  async #tell(subject: string): Promise<void> {
    const sealer = await this.open();
    if (sealer === undefined) return;
    const name = sealer.name(subject);
    const at = String(this.#notBefore);
    const isWritten =
      subject === EVERYTHING
        ? await this.#shared.set(name, sealer.seal(name, at), Math.max(1, this.#options.life))
        : await this.#shared.delete(name);
    const isTold = await this.announce(subject === EVERYTHING ? `${EVERYTHING} ${at}` : subject);
    if (isWritten && isTold) this.#untold.delete(subject);
  }

  /** Whether everything was invalidated while this process was not listening. */
  async #readEverything(sealer: Sealer): Promise<void> {
    const name = sealer.name(EVERYTHING);
    const row = await this.#shared.get(name);
    if (typeof row === 'string') this.#forgetUntil(Number(sealer.open(name, row)));
  }

  #hear(message: string | undefined): void {
    const sealer = this.#sealer?.sealer;
    if (message === undefined) {
      // Messages were missed: what is here may be old, and what could not be told can be told now.
      this.#options.onForget('', undefined);
      for (const subject of this.#untold) this.#tell(subject).catch(() => {});
      if (sealer) this.#readEverything(sealer).catch(() => {});
      return;
    }
    const subject = sealer?.open(INVALIDATION, message);
    // Forged, or from a process with another secret: it shares nothing with us.
    if (subject === undefined) return;
    const space = subject.indexOf(' ');
    const [kind, key] = [subject.slice(0, space), subject.slice(space + 1)];
    this.#outdate(kind === EVERYTHING ? undefined : subject);
    if (kind === EVERYTHING) this.#forgetUntil(Number(key));
    this.#options.onForget(kind, kind === EVERYTHING ? undefined : key);
  }

  #outdate(subject: string | undefined): void {
    for (const asking of this.#asking) asking.outdate(subject);
  }

  #forgetUntil(at: number): void {
    if (at > this.#notBefore) this.#notBefore = at;
  }
}

import type { DriftReports } from '../../diagnostics/drift.js';
import type { SharedCache } from '../../stores/shared-cache.js';
import type { CacheLimits } from './cache-options.js';
import type { Answered } from './flights.js';
import { GuardedSharedCache, UNAVAILABLE, withinDeadline } from './guarded-shared-cache.js';
import { Sealer } from './sealer.js';
import { SharedRows } from './shared-rows.js';

/** How long one process may ask for all of them, in milliseconds. One that dies delays no longer. */
const LOCK_LIFE = 2000;
/** How long to wait before looking again whether the other process has its answer, in milliseconds. */
const LOOK_AGAIN = 25;
/** Invalidations that are remembered while they cannot be told; more, and everything is invalid. */
const MOST_UNTOLD = 1000;

const INVALIDATION = 'invalidation';
const EVERYTHING = 'everything';

/** Tells a cache of this process to forget a key, or all. */
export type OnForget = (kind: string, key: string | undefined) => void;

/** A question under way for the fleet, whose answer an invalidation can make unfit to be shared. */
interface Asking {
  readonly subject: string;
  isOutdated: boolean;
}

/**
 * The answers that the processes of a fleet share, and the lock that lets one of them ask for all.
 * Never in the way: what cannot be had from here in time is asked of the service.
 */
export class Fleet {
  readonly #shared: GuardedSharedCache;
  readonly #rows: SharedRows;
  readonly #life: number;
  readonly #clock: () => number;
  /** Longest wait for the process that asks for all, in milliseconds. */
  readonly #patience: number;
  readonly #secret: () => string | Promise<string>;
  readonly #onForget: OnForget;
  readonly #asking = new Set<Asking>();
  /** Invalidations that the shared cache could not be told: its rows of these are not believed. */
  readonly #untold = new Set<string>();
  #sealer: { readonly secret: string; readonly sealer: Sealer } | undefined;
  /** Answers that were asked for until then were all invalidated, in epoch milliseconds. */
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(
    shared: SharedCache,
    limits: CacheLimits,
    { clock, timeout }: { readonly clock: () => number; readonly timeout: number },
    drift: DriftReports,
    secret: () => string | Promise<string>,
    onForget: OnForget,
  ) {
    this.#shared = new GuardedSharedCache(shared);
    this.#rows = new SharedRows(this.#shared, limits, clock, drift);
    this.#life = Math.max(limits.ttl, limits.staleIfError);
    this.#clock = clock;
    this.#patience = Math.min(LOCK_LIFE, timeout / 2);
    this.#secret = secret;
    this.#onForget = onForget;
  }

  /**
   * The fleet's answer if it has a fresh one, else the service's, which the fleet then has.
   * @param ask - is told how many milliseconds are gone.
   * @param keep - gets an answer that is not fresh any more, but may serve while the service is down.
   */
  async answer<T extends object>(
    kind: string,
    key: string,
    ask: (spent: number) => Promise<Answered<T>>,
    keep: (stale: Answered<T>) => void,
  ): Promise<Answered<T>> {
    const begun = performance.now();
    const spent = (): number => performance.now() - begun;
    const sealer = await this.#open();
    const subject = `${kind} ${key}`;
    if (sealer === undefined || this.#untold.has(subject)) return ask(spent());
    const name = sealer.name(subject);
    const look = async (): Promise<Answered<T> | undefined | typeof UNAVAILABLE> => {
      const found = await this.#rows.read<T>(sealer, name);
      if (found === UNAVAILABLE || found === undefined || found.at <= this.#notBefore) {
        return found === UNAVAILABLE ? found : undefined;
      }
      if (this.#rows.isFresh(found)) return found;
      if (found.value !== null) keep(found);
      return undefined;
    };
    for (;;) {
      const found = await look();
      if (found !== UNAVAILABLE && found !== undefined) return found;
      const unlock =
        found === UNAVAILABLE ? UNAVAILABLE : await this.#shared.lock(`${name}.lock`, LOCK_LIFE);
      if (unlock === undefined && spent() < this.#patience) {
        await soon();
        continue;
      }
      if (typeof unlock !== 'function')
        return this.#askFor(
          subject,
          () => ask(spent()),
          () => {},
        );
      const unlocked = (): void => void unlock().catch(() => {});
      // Who had the lock a moment ago may have answered between our look and our lock.
      const late = await look();
      if (late === UNAVAILABLE || late === undefined) {
        return this.#askFor(subject, () => ask(spent()), unlocked);
      }
      unlocked();
      return late;
    }
  }

  /** Asks the service, and shares what it says behind: who asked does not wait for that. */
  async #askFor<T>(
    subject: string,
    ask: () => Promise<Answered<T>>,
    done: () => void,
  ): Promise<Answered<T>> {
    const asking: Asking = { subject, isOutdated: false };
    this.#asking.add(asking);
    const end = (): void => {
      this.#asking.delete(asking);
      done();
    };
    try {
      const answered = await ask();
      this.#share(asking, answered).then(end, end);
      return answered;
    } catch (error) {
      end();
      throw error;
    }
  }

  async #share<T>(asking: Asking, answered: Answered<T>): Promise<void> {
    const sealer = await this.#open();
    if (sealer === undefined || asking.isOutdated) return;
    const name = sealer.name(asking.subject);
    await this.#rows.write(sealer, name, answered);
    if (asking.isOutdated) await this.#shared.delete(name);
  }

  /** Puts an answer there that was asked for past the fleet. */
  async tell<T>(kind: string, key: string, answered: Answered<T>): Promise<void> {
    await this.#share({ subject: `${kind} ${key}`, isOutdated: false }, answered);
  }

  /** Tells a no that erases a yes: first it is there, then the others forget theirs and find it. */
  async erase<T>(kind: string, key: string, no: Answered<T>): Promise<void> {
    await this.tell(kind, key, no);
    await this.#announce(`${kind} ${key}`);
  }

  /** Makes every process forget a key of one kind. */
  async forget(kind: string, key: string): Promise<void> {
    const subject = `${kind} ${key}`;
    this.#outdate(subject);
    this.#untold.add(subject);
    if (this.#untold.size > MOST_UNTOLD) await this.forgetAll();
    else await this.#tellForgotten(subject);
  }

  /** Makes every process, also one that joins later, forget everything that was asked for until now. */
  async forgetAll(): Promise<void> {
    this.#notBefore = this.#clock();
    this.#outdate(undefined);
    this.#untold.clear();
    this.#untold.add(EVERYTHING);
    await this.#tellForgotten(EVERYTHING);
  }

  close(): Promise<void> {
    return this.#shared.close();
  }

  /** Tells an invalidation; what cannot be told is tried again when the shared cache is back. */
  async #tellForgotten(subject: string): Promise<void> {
    const sealer = await this.#open();
    if (sealer === undefined) return;
    const name = sealer.name(subject);
    const at = String(this.#notBefore);
    const isWritten =
      subject === EVERYTHING
        ? await this.#shared.set(name, sealer.seal(name, at), Math.max(1, this.#life))
        : await this.#shared.delete(name);
    const isTold = await this.#announce(subject === EVERYTHING ? `${EVERYTHING} ${at}` : subject);
    if (isWritten && isTold) this.#untold.delete(subject);
  }

  async #announce(subject: string): Promise<boolean> {
    const sealer = await this.#open();
    return sealer !== undefined && this.#shared.publish(sealer.seal(INVALIDATION, subject));
  }

  /** `undefined` when the secret cannot be had at once: then this call does without the fleet. */
  #open(): Sealer | Promise<Sealer | undefined> {
    const secret = this.#secret();
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
      this.#onForget('', undefined);
      for (const subject of this.#untold) this.#tellForgotten(subject).catch(() => {});
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
    this.#onForget(kind, kind === EVERYTHING ? undefined : key);
  }

  #outdate(subject: string | undefined): void {
    for (const asking of this.#asking) {
      if (subject === undefined || asking.subject === subject) asking.isOutdated = true;
    }
  }

  #forgetUntil(at: number): void {
    if (at > this.#notBefore) this.#notBefore = at;
  }
}

/** With jitter, so that the processes do not all look at once. */
const soon = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN * (0.5 + Math.random())));

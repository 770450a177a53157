import type { DriftReports } from '../../diagnostics/drift.js';
import type { SharedCache } from '../../stores/shared-cache.js';
import { Asking } from './asking.js';
import type { CacheLimits } from './cache-options.js';
import { FleetInvalidations, type OnForget } from './fleet-invalidations.js';
import type { Answered } from './flights.js';
import { GuardedSharedCache, UNAVAILABLE } from './guarded-shared-cache.js';
import { Sealer } from './sealer.js';
import { SharedRows } from './shared-rows.js';

/** How long one process may ask for all of them, in milliseconds. One that dies delays no longer. */
const LOCK_LIFE = 2000;
/** How long to wait before looking again whether the other process has its answer, in milliseconds. */
const LOOK_AGAIN = 25;

/** Asks the service; is told how many milliseconds are gone. */
type AskService<T> = (spent: number) => Promise<Answered<T>>;
/** Gets an answer that is not fresh any more, but may serve while the service is down. */
type KeepStale<T> = (stale: Answered<T>) => void;

/** What a process brings to its fleet. */
export interface FleetOptions {
  readonly limits: CacheLimits;
  readonly clock: () => number;
  /** Milliseconds that a call may take in all. */
  readonly timeout: number;
  readonly drift: DriftReports;
  /** By kind of question, whether a shared yes can be served. */
  readonly shapes: Readonly<Record<string, (value: unknown) => boolean>>;
  /** What answers are sealed with: the same in all processes. */
  readonly secret: () => string | Promise<string>;
  readonly onForget: OnForget;
}

const nothing = (): void => {};
const isAny = (): boolean => true;

/**
 * The answers that the processes of a fleet share, and the lock that lets one of them ask for all.
 * Never in the way: what cannot be had from here in time is asked of the service.
 */
export class Fleet {
  readonly #shared: GuardedSharedCache;
  readonly #rows: SharedRows;
  readonly #invalidations: FleetInvalidations;
  readonly #shapes: FleetOptions['shapes'];
  /** Longest wait for the process that asks for all, in milliseconds. */
  readonly #patience: number;

  constructor(shared: SharedCache, options: FleetOptions) {
    const { limits, clock, timeout, drift, shapes, secret, onForget } = options;
    this.#shapes = shapes;
    this.#shared = new GuardedSharedCache(shared);
    this.#rows = new SharedRows(this.#shared, limits, clock, drift);
    const life = Math.max(limits.ttl, limits.staleIfError);
    this.#invalidations = new FleetInvalidations(this.#shared, { clock, life, secret, onForget });
    this.#patience = Math.min(LOCK_LIFE, timeout / 2);
  }

  /** The fleet's answer if it has a fresh one, else the service's, which the fleet then has. */
  async answer<T extends object>(
    kind: string,
    key: string,
    ask: AskService<T>,
    keep: KeepStale<T>,
  ): Promise<Answered<T>> {
    const begun = performance.now();
    const spent = (): number => performance.now() - begun;
    const subject = `${kind} ${key}`;
    const opened = this.#invalidations.open();
    // Waited for only when there is something to wait for, as below: this is on the way of every hit.
    const sealer = opened instanceof Sealer ? opened : await opened;
    if (sealer === undefined || this.#invalidations.isUntold(subject)) {
      return ask(spent());
    }
    const name = sealer.name(subject);
    // One process asks, and the others look until it is answered.
    for (;;) {
      const found = await this.#look(kind, sealer, name, keep);
      if (found !== UNAVAILABLE && found !== undefined) return found;
      const unlock =
        found === UNAVAILABLE ? UNAVAILABLE : await this.#shared.lock(`${name}.lock`, LOCK_LIFE);
      if (unlock === undefined && spent() < this.#patience) {
        await soon();
        continue;
      }
      const askNow = (): Promise<Answered<T>> => ask(spent());
      if (typeof unlock !== 'function') return this.#askFor(subject, askNow, nothing);
      const unlocked = (): void => void unlock().catch(nothing);
      // Who had the lock a moment ago may have answered between our look and our lock.
      const late = await this.#look(kind, sealer, name, keep);
      if (late === UNAVAILABLE || late === undefined) {
        return this.#askFor(subject, askNow, unlocked);
      }
      unlocked();
      return late;
    }
  }

  /** The fleet's answer, if it has one that can be served. */
  async #look<T extends object>(
    kind: string,
    sealer: Sealer,
    name: string,
    keep: KeepStale<T>,
  ): Promise<Answered<T> | undefined | typeof UNAVAILABLE> {
    const sealed = await this.#shared.get(name);
    if (sealed === UNAVAILABLE) return UNAVAILABLE;
    const found = this.#rows.open<T>(sealer, name, sealed, this.#shapes[kind] ?? isAny);
    if (found === undefined || this.#invalidations.isOver(found.at)) return undefined;
    if (this.#rows.isFresh(found)) return found;
    if (found.value !== null) keep(found);
    return undefined;
  }

  /** Asks the service, and shares what it says behind: who asked does not wait for that. */
  async #askFor<T>(
    subject: string,
    ask: () => Promise<Answered<T>>,
    done: () => void,
  ): Promise<Answered<T>> {
    const asking = this.#invalidations.ask(subject);
    const end = (): void => {
      this.#invalidations.asked(asking);
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
    const sealer = await this.#invalidations.open();
    if (sealer === undefined || asking.isOutdated) return;
    const name = sealer.name(asking.subject);
    await this.#rows.write(sealer, name, answered);
    if (asking.isOutdated) await this.#shared.delete(name);
  }

  /** Puts an answer there that was asked for past the fleet. */
  async tell<T>(kind: string, key: string, answered: Answered<T>): Promise<void> {
    await this.#share(new Asking(`${kind} ${key}`), answered);
  }

  /** Tells a no that erases a yes: first it is there, then the others forget theirs and find it. */
  async erase<T>(kind: string, key: string, no: Answered<T>): Promise<void> {
    await this.tell(kind, key, no);
    await this.#invalidations.announce(`${kind} ${key}`);
  }

  /** Makes every process forget a key of one kind. */
  forget(kind: string, key: string): Promise<void> {
    return this.#invalidations.forget(`${kind} ${key}`);
  }

  /** Makes every process, also one that joins later, forget everything that was asked for until now. */
  forgetAll(): Promise<void> {
    return this.#invalidations.forgetAll();
  }

  close(): Promise<void> {
    return this.#shared.close();
  }
}

/** With jitter, so that the processes do not all look at once. */
const soon = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN * (0.5 + Math.random())));

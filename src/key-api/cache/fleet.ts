import { reportDrift } from '../../diagnostics/drift.js';
import type { SharedCache } from '../../stores/shared-cache.js';
import type { CacheLimits } from './cache-options.js';
import type { Answered } from './flights.js';
import { GuardedSharedCache, UNAVAILABLE, withinDeadline } from './guarded-shared-cache.js';
import { Sealer } from './sealer.js';

/** How long one process may ask for all of them, in milliseconds. One that dies delays no longer. */
const LOCK_LIFE = 2000;
/** How long to wait before looking again whether the other process has its answer, in milliseconds. */
const LOOK_AGAIN = 25;
/** Characters of an answer that are shared at most: a catalogue of megabytes is cheaper to ask for. */
const LARGEST = 512 * 1024;

/** What is kept of an answer in the shared cache, as JSON. */
interface SharedAnswer {
  readonly at: number;
  readonly value: unknown;
}

/** Tells a cache of this process to forget a key, or all. */
export type OnForget = (kind: string, key: string | undefined) => void;

/**
 * The answers that the processes of a fleet share, and the lock that lets one of them ask for all.
 * Never in the way: what cannot be had from here in time is asked of the service.
 */
export class Fleet {
  readonly #shared: GuardedSharedCache;
  readonly #limits: CacheLimits;
  readonly #clock: () => number;
  readonly #secret: () => string | Promise<string>;
  readonly #onForget: OnForget;
  /** Longest wait for the process that asks for all, in milliseconds. */
  readonly #patience: number;
  #sealer: { readonly secret: string; readonly sealer: Sealer } | undefined;
  /** Answers that were asked for until then were all invalidated, in epoch milliseconds. */
  #notBefore = Number.NEGATIVE_INFINITY;

  constructor(
    shared: SharedCache,
    limits: CacheLimits,
    { clock, timeout }: { readonly clock: () => number; readonly timeout: number },
    secret: () => string | Promise<string>,
    onForget: OnForget,
  ) {
    this.#shared = new GuardedSharedCache(shared);
    this.#limits = limits;
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
    if (sealer === undefined) return ask(spent());
    const name = sealer.name(`${kind} ${key}`);
    for (;;) {
      const found = await this.#read<T>(sealer, name);
      if (found !== UNAVAILABLE && found !== undefined) {
        if (this.#isFresh(found)) return found;
        if (found.value !== null) keep(found);
      }
      const unlock =
        found === UNAVAILABLE ? UNAVAILABLE : await this.#shared.lock(`${name}.lock`, LOCK_LIFE);
      if (unlock === undefined && spent() < this.#patience) {
        await soon();
        continue;
      }
      const done = async (): Promise<void> => {
        if (typeof unlock === 'function') await unlock();
      };
      try {
        const answered = await ask(spent());
        // Behind: whoever asked does not wait for the shared cache to take it in.
        this.#write(sealer, name, answered).then(done, done);
        return answered;
      } catch (error) {
        await done();
        throw error;
      }
    }
  }

  /** Puts an answer there that was asked for past the fleet. */
  async tell<T>(kind: string, key: string, answered: Answered<T>): Promise<void> {
    const sealer = await this.#open();
    if (sealer) await this.#write(sealer, sealer.name(`${kind} ${key}`), answered);
  }

  /** Tells a no that erases a yes: first it is there, then the others forget theirs and find it. */
  async erase<T>(kind: string, key: string, no: Answered<T>): Promise<void> {
    await this.tell(kind, key, no);
    await this.#announce(`${kind} ${key}`);
  }

  /** Makes every process forget a key of one kind. */
  async forget(kind: string, key: string): Promise<void> {
    const sealer = await this.#open();
    if (sealer) await this.#shared.delete(sealer.name(`${kind} ${key}`));
    await this.#announce(`${kind} ${key}`);
  }

  /** Makes every process, also one that joins later, forget everything that was asked for until now. */
  async forgetAll(): Promise<void> {
    const at = this.#clock();
    this.#notBefore = at;
    const sealer = await this.#open();
    const life = Math.max(this.#limits.ttl, this.#limits.staleIfError);
    if (sealer && life > 0) {
      const name = sealer.name(EVERYTHING);
      await this.#shared.set(name, sealer.seal(name, String(at)), life);
    }
    await this.#announce(`${EVERYTHING} ${at}`);
  }

  close(): Promise<void> {
    return this.#shared.close();
  }

  async #announce(subject: string): Promise<void> {
    const sealer = await this.#open();
    if (sealer) await this.#shared.publish(sealer.seal(INVALIDATION, subject));
  }

  /** `undefined` when the secret cannot be had at once: then this call does without the fleet. */
  async #open(): Promise<Sealer | undefined> {
    const secret = await withinDeadline(async () => this.#secret());
    if (secret === UNAVAILABLE) return undefined;
    this.#shared.subscribe((message) => this.#hear(message));
    if (this.#sealer?.secret !== secret) {
      const sealer = new Sealer(secret);
      this.#sealer = { secret, sealer };
      const name = sealer.name(EVERYTHING);
      const row = await this.#shared.get(name);
      if (typeof row === 'string') this.#forgetUntil(Number(sealer.open(name, row)));
    }
    return this.#sealer.sealer;
  }

  #hear(message: string | undefined): void {
    // Not an invalidation, but messages that were missed: what is here may be old, what is there not.
    if (message === undefined) {
      this.#onForget('', undefined);
      return;
    }
    const subject = this.#sealer?.sealer.open(INVALIDATION, message);
    // Forged, or from a process with another secret: it shares nothing with us.
    if (subject === undefined) return;
    const space = subject.indexOf(' ');
    const [kind, key] = [subject.slice(0, space), subject.slice(space + 1)];
    if (kind !== EVERYTHING) {
      this.#onForget(kind, key);
      return;
    }
    this.#forgetUntil(Number(key));
    this.#onForget('', undefined);
  }

  #forgetUntil(at: number): void {
    if (at > this.#notBefore) this.#notBefore = at;
  }

  #isFresh<T>({ value, at }: Answered<T>): boolean {
    const age = this.#clock() - at;
    return age >= 0 && age < (value === null ? this.#limits.invalidTtl : this.#limits.ttl);
  }

  async #read<T>(
    sealer: Sealer,
    name: string,
  ): Promise<Answered<T> | undefined | typeof UNAVAILABLE> {
    const sealed = await this.#shared.get(name);
    if (sealed === UNAVAILABLE || sealed === undefined) return sealed;
    const text = sealer.open(name, sealed);
    const answer = text === undefined ? undefined : parse(text);
    if (answer !== undefined) {
      return answer.at > this.#notBefore ? (answer as Answered<T>) : undefined;
    }
    reportDrift({
      endpoint: 'shared cache',
      kind: 'dropped',
      path: 'value',
      expected: 'a value sealed by this fleet',
    });
    return undefined;
  }

  async #write<T>(sealer: Sealer, name: string, { value, at }: Answered<T>): Promise<void> {
    const answer: SharedAnswer = { at, value };
    const text = JSON.stringify(answer);
    if (text.length > LARGEST) return;
    const life = value === null ? this.#limits.invalidTtl : this.#limits.staleIfError;
    // Counted from the question, as everywhere; a life of nothing is not worth a call.
    const left = Math.max(life, value === null ? 0 : this.#limits.ttl) - (this.#clock() - at);
    if (left > 0) await this.#shared.set(name, sealer.seal(name, text), Math.ceil(left));
  }
}

const INVALIDATION = 'invalidation';
const EVERYTHING = 'everything';

function parse(text: string): SharedAnswer | undefined {
  const answer = JSON.parse(text) as Partial<SharedAnswer> | null;
  const isAnswer = typeof answer?.at === 'number' && typeof answer.value === 'object';
  return isAnswer ? { at: answer.at, value: answer.value } : undefined;
}

/** With jitter, so that the processes do not all look at once. */
const soon = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN * (0.5 + Math.random())));

import type { DriftReports } from '../../diagnostics/drift.js';
import type { CacheLimits } from './cache-options.js';
import type { Answered } from './flights.js';
import type { GuardedSharedCache } from './guarded-shared-cache.js';
import type { Sealer } from './sealer.js';

/** Characters of an answer that are shared at most: a catalogue of megabytes is cheaper to ask for. */
const LARGEST = 512 * 1024;
/** How far another host's clock may be ahead of ours and its answer still be of now, in milliseconds. */
const SKEW = 5000;

/** What is kept of an answer in the shared cache, as sealed JSON. */
interface SharedAnswer {
  readonly at: number;
  readonly value: unknown;
}

/** Answers as rows of the shared cache: sealed, with the time of the question. */
export class SharedRows {
  readonly #shared: GuardedSharedCache;
  readonly #limits: CacheLimits;
  readonly #clock: () => number;
  readonly #drift: DriftReports;

  constructor(
    shared: GuardedSharedCache,
    limits: CacheLimits,
    clock: () => number,
    drift: DriftReports,
  ) {
    this.#shared = shared;
    this.#limits = limits;
    this.#clock = clock;
    this.#drift = drift;
  }

  /**
   * What was found there; `undefined`: nothing that this fleet has put there.
   * @param isShape - whether a yes is one that can be served.
   */
  open<T>(
    sealer: Sealer,
    name: string,
    sealed: unknown,
    isShape: (value: unknown) => boolean,
  ): Answered<T> | undefined {
    if (typeof sealed !== 'string') return undefined;
    const text = sealer.open(name, sealed);
    const answer = text === undefined ? undefined : parse(text);
    if (answer !== undefined && (answer.value === null || isShape(answer.value))) {
      const now = this.#clock();
      const isJustAhead = answer.at > now && answer.at - now < SKEW;
      return { at: isJustAhead ? now : answer.at, value: answer.value as T | null };
    }
    this.#drift.report({
      endpoint: 'shared cache',
      kind: 'dropped',
      path: 'value',
      expected: 'a value sealed by this fleet, of this version',
    });
    return undefined;
  }

  async write<T>(sealer: Sealer, name: string, { value, at }: Answered<T>): Promise<void> {
    const text = write({ at, value });
    if (text === undefined) return;
    const { invalidTtl, staleIfError, ttl } = this.#limits;
    const life = value === null ? invalidTtl : Math.max(staleIfError, ttl);
    // Counted from the question, as everywhere; a life of nothing is not worth a call.
    const left = life - (this.#clock() - at);
    if (left > 0) await this.#shared.set(name, sealer.seal(name, text), Math.ceil(left));
  }

  /** Whether it can be served without asking. */
  isFresh<T>({ value, at }: Answered<T>): boolean {
    const age = this.#clock() - at;
    return age >= 0 && age < (value === null ? this.#limits.invalidTtl : this.#limits.ttl);
  }
}

/** As JSON, or `undefined` when that is too long: then no more of it is written than shows it. */
function write(answer: SharedAnswer): string | undefined {
  const { at, value } = answer;
  if (!Array.isArray(value)) {
    const text = JSON.stringify(answer);
    return text.length > LARGEST ? undefined : text;
  }
  const elements: string[] = [];
  let length = 0;
  for (const element of value) {
    const text = JSON.stringify(element);
    length += text.length + 1;
    if (length > LARGEST) return undefined;
    elements.push(text);
  }
  return `{"at":${at},"value":[${elements.join(',')}]}`;
}

function parse(text: string): SharedAnswer | undefined {
  const answer = JSON.parse(text) as Partial<SharedAnswer> | null;
  const isAnswer = typeof answer?.at === 'number' && typeof answer.value === 'object';
  return isAnswer ? { at: answer.at, value: answer.value } : undefined;
}

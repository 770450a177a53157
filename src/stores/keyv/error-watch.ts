import type { ErrorEmitter } from './keyv-like.js';

/** What a call gave, and what was heard meanwhile. */
export interface Watched<T> {
  readonly result: T;
  /** Whether a backend failed. Perhaps for somebody else's call: that cannot be told apart. */
  readonly failed: boolean;
  /** The first such error. */
  readonly error: unknown;
  /** Whether a stored row could not be parsed: the backend works, but the row is rubbish. */
  readonly garbled: boolean;
}

interface Heard {
  failed: boolean;
  error: unknown;
  garbled: boolean;
}

/**
 * Listens for `error` events while calls are under way, and at no other time: Keyv and some of its
 * adapters swallow a failure and only tell it there. One listener serves all concurrent calls, for
 * emitters complain about many.
 */
export class ErrorWatch {
  readonly #emitters: () => readonly ErrorEmitter[];
  readonly #listenedTo = new Set<ErrorEmitter>();
  readonly #calls = new Set<Heard>();

  constructor(emitters: () => readonly ErrorEmitter[]) {
    this.#emitters = emitters;
  }

  /** Runs a call to its end. Rejects as the call does. */
  async during<T>(call: () => Promise<T>): Promise<Watched<T>> {
    const heard: Heard = { failed: false, error: undefined, garbled: false };
    this.#calls.add(heard);
    for (const emitter of this.#emitters()) {
      if (this.#listenedTo.has(emitter)) continue;
      emitter.on('error', this.#onError);
      this.#listenedTo.add(emitter);
    }
    try {
      return { result: await call(), ...heard };
    } finally {
      this.#calls.delete(heard);
      if (this.#calls.size === 0) this.#stop();
    }
  }

  readonly #onError = (error: unknown): void => {
    for (const heard of this.#calls) {
      if (isGarbled(error)) {
        heard.garbled = true;
      } else if (!heard.failed) {
        heard.failed = true;
        heard.error = error;
      }
    }
  };

  #stop(): void {
    for (const emitter of this.#listenedTo) emitter.off('error', this.#onError);
    this.#listenedTo.clear();
  }
}

/** The error of `JSON.parse`, by which Keyv reads rows: the backend did answer. */
export function isGarbled(error: unknown): boolean {
  // By name, for under jest the `SyntaxError` in here is not the one of `JSON.parse`.
  return (error as { name?: unknown } | null | undefined)?.name === 'SyntaxError';
}

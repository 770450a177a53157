import type { VisitorCallOptions } from '../cache/cache.js';
import type { AppId } from '../options.js';

/** Work out what a call takes. Called only if the service is to be asked. */
interface Parts {
  readonly signal: () => AbortSignal | undefined;
  readonly client?: (() => AppId) | undefined;
}

/**
 * The options of a call for a visitor, of which a cached answer needs none: each is worked out when it is read. They are its
 * own properties, so that a wrapper of a KeyApi can write `{ ...options }`, and their getters are the same for all calls,
 * because getters that are made for each call cost more than the answer of a cache.
 */
export class VisitorCall implements VisitorCallOptions {
  declare readonly signal: AbortSignal | undefined;
  declare readonly client: AppId;
  readonly #parts: Parts;

  constructor(
    parts: Parts,
    readonly fresh?: boolean,
  ) {
    this.#parts = parts;
    Object.defineProperty(this, 'signal', VisitorCall.#SIGNAL);
    Object.defineProperty(this, 'client', VisitorCall.#CLIENT);
  }

  static readonly #SIGNAL = {
    enumerable: true,
    get(this: VisitorCall) {
      return this.#parts.signal();
    },
  };
  static readonly #CLIENT = {
    enumerable: true,
    get(this: VisitorCall) {
      return this.#parts.client?.();
    },
  };
}

import { type LookupMessage, lookupChannel } from '../../diagnostics/lookup.js';
import { isMarketgateError } from '../../errors/marketgate-error.js';
import type { Answered } from './flights.js';

/** Tells who listens where the answers to one kind of question came from. */
export class Lookups {
  readonly #what: LookupMessage['what'];

  constructor(what: LookupMessage['what']) {
    this.#what = what;
  }

  /** Tells of an answer, and passes it on. */
  report<A extends Answered<object>>(source: LookupMessage['source'], answered: A): A {
    if (lookupChannel.hasSubscribers) {
      const outcome = answered.value === null ? 'no' : 'yes';
      const message: LookupMessage = { what: this.#what, source, outcome };
      lookupChannel.publish(message);
    }
    return answered;
  }

  /** Tells that there was none. */
  failed(source: LookupMessage['source'], error: unknown): void {
    const code = isMarketgateError(error) ? { code: error.code } : {};
    const message: LookupMessage = { what: this.#what, source, outcome: 'failed', ...code };
    lookupChannel.publish(message);
  }
}

import type { MarketgateError } from '../errors.js';

/**
 * Whether a well-formed code is worth anything could not be found out. Thrown inside guards only: it tells
 * this failure from those of the app's own functions, which can throw a MarketgateError as well.
 */
export class CannotFindOut extends Error {
  readonly error: MarketgateError;
  /** Whether the service could not be asked at all: the one failure that `onUnknown` is about. */
  readonly isUnasked: boolean;

  constructor(error: MarketgateError, isUnasked: boolean) {
    super(error.message, { cause: error });
    this.error = error;
    this.isUnasked = isUnasked;
  }
}

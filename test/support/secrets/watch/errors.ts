import { MarketgateError } from '../../../../src/errors.js';
import { everythingOf } from '../support/everything-of.js';
import type { Sweep } from './sweep.js';

/**
 * Every error of the package's own making: each MarketgateError, and each TypeError about an option.
 * Both are caught where they are made, whether or not anybody ever sees them.
 */
export function watchErrors(sweep: Sweep): void {
  const note = (error: Error): void => {
    const cause = error.cause instanceof Error ? error.cause.message : '';
    sweep.out(`error ${error.message} ${cause}`, () => ({
      exit: 'error',
      text: everythingOf(error),
    }));
  };

  // `super(…)` asks for the constructor's prototype when it runs, so one can be put in between.
  class WatchedError extends Error {
    constructor(message?: string, options?: ErrorOptions) {
      // The stack begins where `new.target` was called, as it would without us.
      super(message, options);
      note(this);
    }
  }
  Object.setPrototypeOf(MarketgateError, WatchedError);

  const Original = globalThis.TypeError;
  function construct(target: typeof TypeError, args: unknown[], newTarget: object): TypeError {
    const error: TypeError = Reflect.construct(target, args, newTarget as typeof TypeError);
    Error.captureStackTrace(error, construct);
    note(error);
    return error;
  }
  globalThis.TypeError = new Proxy(Original, { construct });
}

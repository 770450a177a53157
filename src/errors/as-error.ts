/**
 * An error that Express and passport take for one. `next(undefined)`, `next(null)` and `next('')` mean
 * "go on", and `next('route')` skips the rest of the route: what an app's own function throws without
 * an Error must not open a guard.
 */
export function asError(thrown: unknown): object {
  if (typeof thrown === 'object' && thrown !== null) return thrown;
  return new TypeError(
    `marketgate: a function that was passed in failed with ${thrown === undefined ? 'nothing' : `a ${typeof thrown}`} instead of an Error`,
  );
}

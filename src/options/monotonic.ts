/**
 * A clock that never goes back, made of one that can: durations measured by it stay as long as they are
 * when the wall clock is set back, so that no cached answer, key check or backoff outlives its time.
 * A clock that jumps ahead ends them early.
 */
export function monotonic(clock: () => number): () => number {
  let offset = 0;
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    let now = clock() + offset;
    if (now < last) {
      offset += last - now;
      now = last;
    }
    last = now;
    return now;
  };
}

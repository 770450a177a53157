import assert from 'node:assert/strict';

/** How the time of what is tested passes. */
export interface Clocked {
  /**
   * Lets this many milliseconds pass at once, for what is tested and for `clock`. Without it the suite
   * waits for real, a second or two in each of the few tests about time.
   */
  advance?(milliseconds: number): unknown;
  /** The present as epoch milliseconds, as what is tested sees it. Default `Date.now`. */
  clock?(): number;
}

/** How late a backend may forget, in milliseconds: some look only once in a while. */
const LATEST = 3000;

/** How often to look, in milliseconds. */
const STEP = 25;

export function presentOf({ clock }: Clocked): number {
  return clock === undefined ? Date.now() : clock();
}

/**
 * Waits until `milliseconds` are over and `isOver` says so: at once where time can be advanced, else
 * by looking again and again, for at most three seconds longer.
 */
export async function pass(
  clocked: Clocked,
  milliseconds: number,
  isOver: () => Promise<boolean>,
  complaint: string,
): Promise<void> {
  if (clocked.advance !== undefined) {
    await clocked.advance(milliseconds);
    assert.ok(await isOver(), complaint);
    return;
  }
  const last = performance.now() + milliseconds + LATEST;
  while (!(await isOver())) {
    assert.ok(performance.now() < last, complaint);
    await new Promise((resolve) => setTimeout(resolve, STEP));
  }
}

import { vi } from 'vitest';

// For tests of what waits, over sockets too: the time is the test's, and everything else goes on by itself.

/** From now on, timers go by {@link later}. */
export const fakeTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

/** Lets fake time pass, until this is there: 40 seconds at most. */
export async function later<T>(promise: Promise<T>): Promise<T> {
  let isThere = false;
  const end = () => {
    isThere = true;
  };
  promise.then(end, end);
  for (let i = 0; i < 2000 && !isThere; i++) {
    await vi.advanceTimersByTimeAsync(20);
    await new Promise(setImmediate);
  }
  return promise;
}

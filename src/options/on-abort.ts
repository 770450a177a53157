/** What waits for each signal. */
const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `listener` when the signal is aborted. However many calls share one signal, it gets one event
 * listener: Node prints a warning when there are more than ten.
 *
 * @returns stops listening.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  let waiting = listeners.get(signal);
  if (waiting === undefined) {
    const all = new Set<() => void>();
    const abort = (): void => {
      listeners.delete(signal);
      for (const each of [...all]) each();
    };
    signal.addEventListener('abort', abort, { once: true });
    listeners.set(signal, all);
    waiting = all;
  }
  waiting.add(listener);
  return () => void waiting.delete(listener);
}

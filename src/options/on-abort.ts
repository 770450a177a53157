/** What waits for each signal, and the one event listener that it has for all of them. */
const waiting = new WeakMap<AbortSignal, { readonly all: Set<() => void>; onEvent: () => void }>();

/**
 * Calls `listener` when the signal is aborted. However many calls share one signal, it gets one event
 * listener: Node prints a warning when there are more than ten. None stays when nobody waits any more.
 *
 * @returns stops listening.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  let entry = waiting.get(signal);
  if (entry === undefined) {
    const all = new Set<() => void>();
    const onEvent = (): void => {
      waiting.delete(signal);
      for (const each of [...all]) each();
    };
    signal.addEventListener('abort', onEvent, { once: true });
    entry = { all, onEvent };
    waiting.set(signal, entry);
  }
  const { all, onEvent } = entry;
  all.add(listener);
  return () => {
    all.delete(listener);
    if (all.size > 0 || waiting.get(signal)?.all !== all) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', onEvent);
  };
}

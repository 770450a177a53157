/** Tells who watches a sandbox that something of it changed. Nobody watches until a console is open. */
export class Changes {
  readonly #watchers = new Set<() => void>();

  /** Something changed. */
  readonly note = (): void => {
    for (const watcher of this.#watchers) watcher();
  };

  /** Calls `watcher` after every change, until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }
}

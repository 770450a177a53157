/**
 * Something that is loaded with its first use, and from then on is there without a promise: waiting
 * for what is there already would cost every call a turn.
 *
 * @param load imports a module; called once.
 */
export function lazily<T extends object>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: T | undefined;
  let loading: Promise<T> | undefined;
  return () => {
    if (loaded !== undefined) return loaded;
    if (loading === undefined) {
      loading = load();
      loading.then(
        (module) => {
          loaded = module;
        },
        // Told to whoever waits for it; nobody may, when the call has failed before.
        () => {},
      );
    }
    return loading;
  };
}

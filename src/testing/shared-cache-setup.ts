import type { SharedCache } from '../cache/shared-cache.js';
import type { Clocked } from './passing-time.js';

/** What {@link describeSharedCache} is given anew for each test. */
export interface SharedCacheSetup extends Clocked {
  /** The cache. It may hold what earlier tests left: the suite makes up new keys. */
  cache: SharedCache;
  /** A second one on the same backend, as another process would have it. Default: `cache` itself. */
  peer?: SharedCache | undefined;
  /** Ends what was begun for them. Awaited after the test, also after one that failed. */
  close?(): unknown;
}

/** Adds a test to the suite; it gets the cache and its peer. */
export type AddCacheTest = (
  name: string,
  test: (cache: SharedCache, peer: SharedCache, setup: SharedCacheSetup) => Promise<void>,
) => void;

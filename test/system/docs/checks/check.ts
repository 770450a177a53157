import type { Running, RunOptions } from '../support/run-block.js';

/** How a documented program is tried: what it is run with, and what must be true of it then. */
export interface Check {
  readonly options?: RunOptions;
  /** Makes what only the test knows, as a server; its `end` is awaited afterwards. */
  readonly prepare?: () => Promise<RunOptions & { readonly end?: () => Promise<void> }>;
  readonly check: (running: Running) => Promise<void>;
  /** Whether it needs a redis-server. */
  readonly needsRedis?: boolean;
}

/** By the page's path and the file's name, as in `README.md: shop.js`. */
export type Checks = Readonly<Record<string, Check>>;

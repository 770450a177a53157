import type { SandboxDialect } from './dialect.js';
import { parsed } from './seed/build-seed.js';
import { redirectUrl as redirectUrlSchema } from './seed/schema.js';
import type { SandboxSeed } from './seed/types.js';

/** Options of {@link createSandbox}; every one can be left out. */
export interface SandboxOptions {
  /** Parts that take the place of the default seed's: users, workspaces, apps, items, purchases. */
  seed?: Partial<SandboxSeed>;
  /** The time to start from, as a function that gives epoch milliseconds. Default: `Date.now`. */
  clock?: () => number;
  /** Differences from the specification to start with. Default: none. */
  dialect?: Partial<SandboxDialect>;
  /** The redirect URL of the first app. Default: the seed's, or `/callback` where the browser came from. */
  redirectUrl?: string;
  /**
   * Names the console page may be opened under, besides localhost, IP addresses and names without a dot:
   * `['sandbox.example.test']`, say, behind a proxy. Default: none, for other websites could use such a name.
   */
  consoleHosts?: readonly string[];
}

const NAMES: ReadonlySet<string> = new Set([
  'seed',
  'clock',
  'dialect',
  'redirectUrl',
  'consoleHosts',
]);

/** Checks everything that the parts do not check themselves; throws a TypeError that names the option. */
export function checkOptions(options: SandboxOptions): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError('createSandbox: expected an object of options');
  }
  for (const name of Object.keys(options)) {
    if (!NAMES.has(name)) throw new TypeError(`createSandbox: there is no option ${name}`);
  }
  const { clock, redirectUrl, consoleHosts } = options;
  if (clock !== undefined && (typeof clock !== 'function' || !Number.isFinite(clock()))) {
    throw new TypeError('clock: expected a function that gives epoch milliseconds');
  }
  const isNames =
    Array.isArray(consoleHosts) && consoleHosts.every((name) => typeof name === 'string');
  if (consoleHosts !== undefined && !isNames) {
    throw new TypeError('consoleHosts: expected an array of host names');
  }
  if (redirectUrl !== undefined) parsed(redirectUrlSchema, redirectUrl, 'redirectUrl');
}

import type { SandboxSeed } from './data/schema.js';
import { parsed, redirectUrl as redirectUrlSchema } from './data/schema.js';
import type { SandboxDialect } from './dialect.js';
import type { SandboxRequest } from './record.js';

/** Options of {@link createSandbox}; every one can be left out. */
export interface SandboxOptions {
  /** Parts that replace the default seed's: users, workspaces, apps, items, purchases. */
  seed?: Partial<SandboxSeed>;
  /** The time to start from, as a function that gives epoch milliseconds. Default: `Date.now`. */
  clock?: () => number;
  /** Differences from the specification to start with. Default: none. */
  dialect?: Partial<SandboxDialect>;
  /** The redirect URL of the first app. Default: the seed's, or `/callback` where the browser came from. */
  redirectUrl?: string;
  /**
   * Names under which the console page can be opened, besides localhost, IP addresses and names without a
   * dot: `['sandbox.example.test']`, say, behind a proxy. Default: none, because other websites could use
   * such a name.
   */
  consoleHosts?: readonly string[];
  /**
   * A file in which purchases, keys, users and switches outlive a restart: read at the start, if it exists, in
   * place of `seed` and `dialect`, and written at every change. It holds secrets. Default: none.
   */
  state?: string;
  /** Called with each request when its answer has ended, except those of the console. Default: not called. */
  onRequest?: (request: SandboxRequest) => void;
}

const NAMES = ['seed', 'clock', 'dialect', 'redirectUrl', 'consoleHosts', 'state', 'onRequest'];

/** Checks what the parts do not check themselves; throws a TypeError that names the option. */
export function checkOptions(options: SandboxOptions): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError('createSandbox: expected an object of options');
  }
  for (const name of Object.keys(options)) {
    if (!NAMES.includes(name)) throw new TypeError(`createSandbox: there is no option ${name}`);
  }
  const { clock, redirectUrl, consoleHosts, state, onRequest } = options;
  if (clock !== undefined && (typeof clock !== 'function' || !Number.isFinite(clock()))) {
    throw new TypeError('clock: expected a function that gives epoch milliseconds');
  }
  const isNames =
    Array.isArray(consoleHosts) && consoleHosts.every((name) => typeof name === 'string');
  if (consoleHosts !== undefined && !isNames) {
    throw new TypeError('consoleHosts: expected an array of host names');
  }
  if (state !== undefined && (typeof state !== 'string' || state === '')) {
    throw new TypeError('state: expected the path of a file');
  }
  if (onRequest !== undefined && typeof onRequest !== 'function') {
    throw new TypeError('onRequest: expected a function');
  }
  if (redirectUrl !== undefined) parsed(redirectUrlSchema, redirectUrl, 'redirectUrl');
}

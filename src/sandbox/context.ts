import { z } from 'zod';
import { createClock } from './clock.js';
import { hostnameOf } from './console/guard.js';
import { LiveEvents } from './console/live-events.js';
import { SandboxData } from './data/sandbox-data.js';
import { parsed, redirectUrl, type SandboxSeed } from './data/schema.js';
import { buildSeed } from './data/seed.js';
import { createCredentials } from './login-api/credentials.js';
import { createRecord, type SandboxRequest } from './record.js';
import { createDialect, createFaults, type SandboxDialect } from './switches.js';

/** Options of {@link createSandbox}; every one can be left out. */
export interface SandboxOptions {
  /** Parts that replace the default seed's: users, workspaces, apps, items, purchases. */
  seed?: Partial<SandboxSeed>;
  /** The time to start from, as a function that gives epoch milliseconds. Default: `Date.now`. */
  clock?: () => number;
  /** Differences from the specification to start with. Default: none. */
  dialect?: Partial<SandboxDialect>;
  /** The redirect URL of the first app. Default: the seed's; without one, the login page asks for it. */
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

/** What the parts do not check themselves. */
const optionsSchema = z
  .strictObject({
    seed: z.unknown(),
    clock: z.custom<() => number>(
      (clock) => typeof clock === 'function' && Number.isFinite(clock()),
      'expected a function that gives epoch milliseconds',
    ),
    dialect: z.looseObject({}),
    redirectUrl,
    consoleHosts: z.array(z.string()),
    state: z.string().min(1),
    onRequest: z.custom((value) => typeof value === 'function', 'expected a function'),
  })
  .partial();

/** The parts of one sandbox. */
export type SandboxContext = ReturnType<typeof createContext>;

/**
 * Makes the parts of one sandbox. Every change of any of them is an event for open consoles.
 *
 * @throws TypeError that names what is wrong with the options.
 */
export function createContext(options: SandboxOptions) {
  parsed(optionsSchema, options, 'createSandbox');
  const live = new LiveEvents();
  /** Writes the state file, if there is one. */
  const state = { save: () => {} };
  /** Something changed that a state file holds. */
  const changed = () => {
    state.save();
    live.changed();
  };
  const clock = createClock(options.clock ?? Date.now, live.changed);
  const dialect = createDialect(options.dialect, changed);
  const faults = createFaults(changed);
  const credentials = createCredentials(clock, dialect, live.changed);
  const seed = buildSeed(options.seed, clock.now());
  return {
    clock,
    dialect,
    faults,
    /** What `data` reads and changes. */
    seed,
    data: new SandboxData({ seed, clock, credentials, changed }),
    credentials,
    record: createRecord(clock, live.changed, options.onRequest),
    live,
    /** The names under which the console answers, besides the safe ones. */
    hosts: new Set(options.consoleHosts?.map(hostnameOf)),
    changed,
    state,
  };
}

import { createHash, randomBytes } from 'node:crypto';
import * as z from 'zod';
import { createClock } from './clock.js';
import { hostnameOf } from './console/guard.js';
import { LiveEvents } from './console/live-events.js';
import { SandboxData } from './data/sandbox-data.js';
import { parseOrThrow, redirectUrl, type SandboxSeed } from './data/schema.js';
import { buildSeed } from './data/seed.js';
import { createCredentials } from './login-api/credentials.js';
import { createRecord, type SandboxRequest } from './record.js';
import { keepState } from './state.js';
import { createDialect, createFaults, type SandboxDialect } from './switches.js';

/** The parts check `seed` and `dialect` themselves. */
const optionFields = {
  /** Parts that replace the default seed's: users, workspaces, apps, items, purchases. */
  seed: z.custom<Partial<SandboxSeed>>(),
  /** The time to start from, as a function that gives epoch milliseconds. Default: `Date.now`. */
  clock: z.custom<() => number>(
    (clock) => typeof clock === 'function' && Number.isFinite(clock()),
    'expected a function that gives epoch milliseconds',
  ),
  /** Differences from the specification to start with. Default: none. */
  dialect: z.custom<Partial<SandboxDialect>>(
    (dialect) => typeof dialect === 'object' && dialect !== null,
    'expected an object of switches',
  ),
  /** The redirect URL of the first app. Default: the seed's; without one, the login page asks for it. */
  redirectUrl,
  /**
   * Names and addresses under which the console and the API of the sandbox can be used, besides loopback and the
   * address that it listens on: `['sandbox.example.test']`, say, behind a proxy. Default: none, because other
   * websites could use such a name.
   */
  consoleHosts: z.array(z.string()).readonly(),
  /**
   * A file in which purchases, keys, users and switches outlive a restart: read at the start, if it exists, in
   * place of `seed` and `dialect`, and written at every change. It holds secrets. Default: none.
   */
  state: z.string().min(1),
  /** Whether keys, tokens and codes are the same in every run, because each is drawn by its number. Default: false. */
  deterministic: z.boolean(),
  /** Called with each request when its answer has ended, except those of the console. Default: not called. */
  onRequest: z.custom<(request: SandboxRequest) => void>(
    (value) => typeof value === 'function',
    'expected a function',
  ),
};

const optionsSchema = z.strictObject(optionFields).partial();

/** Options of {@link createSandbox}; every one can be left out. */
export interface SandboxOptions extends z.infer<typeof optionsSchema> {}

/** The parts of one sandbox. */
export type SandboxContext = ReturnType<typeof createContext>;

/**
 * Makes the parts of one sandbox. Open consoles are notified of every change.
 *
 * @throws TypeError that names what is wrong with the options.
 */
export function createContext(options: SandboxOptions) {
  parseOrThrow(optionsSchema, options, 'createSandbox');
  const live = new LiveEvents();
  /** Writes the state file, if there is one, or takes the change back and throws. */
  let save = (): void => {};
  let isChanging = false;
  /** Makes a change of what a state file holds, and saves it. A change within a change is saved with that. */
  const change = (make: () => void): void => {
    if (isChanging) return void make();
    isChanging = true;
    try {
      make();
      save();
    } finally {
      isChanging = false;
      live.notify();
    }
  };
  const clock = createClock(options.clock ?? Date.now, live.notify);
  /** For `faults.errorRate`, the rates of all requests less the errors, by scope; for `dialect.rateLimit`, by address. */
  const counted = {
    errorsDue: new Map<string, number>(),
    delays: 0,
    requests: new Map<string, number>(),
  };
  const setSwitch = (name: string, make: () => void) => {
    change(make);
    if (/^faults\.errorRate\b/.test(name)) counted.errorsDue.delete(name.split('@')[1] ?? '');
    if (name === 'dialect.rateLimit') counted.requests.clear();
  };
  const dialect = createDialect(options.dialect, setSwitch);
  /** How many secrets were drawn: the next one is made of that, if this sandbox is deterministic. */
  const drawn = { count: 0 };
  /** Makes a secret of up to 32 bytes, in hex. */
  const draw = (bytes: number): string => {
    drawn.count++;
    if (!options.deterministic) return randomBytes(bytes).toString('hex');
    const digest = createHash('sha256').update(`marketgate sandbox ${drawn.count}`).digest('hex');
    return digest.slice(0, 2 * bytes);
  };
  const credentials = createCredentials(clock, dialect, draw);
  const freshSeed = () => buildSeed(options.seed, clock.now());
  const seed = freshSeed();
  const context = {
    clock,
    dialect,
    faults: createFaults(setSwitch),
    counted,
    /** What `data` reads and changes. */
    seed,
    data: new SandboxData({ seed, freshSeed, clock, credentials, change, draw }),
    credentials,
    drawn,
    record: createRecord(clock, live.notify, options.onRequest),
    live,
    /** The names under which the console answers, besides loopback and `listensOn`. */
    consoleHosts: new Set(options.consoleHosts?.map(hostnameOf)),
    listensOn: { host: '' },
    change,
  };
  if (options.state !== undefined) save = keepState(context, options.state);
  return context;
}

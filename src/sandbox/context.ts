import { createHash, randomBytes } from 'node:crypto';
import * as z from 'zod/mini';
import { createClock } from './clock.js';
import { hostnameOf } from './console/guard.js';
import { SandboxData } from './data/sandbox-data.js';
import { parseOrThrow, redirectUrl, type SandboxSeed } from './data/schema.js';
import { buildSeed } from './data/seed.js';
import { createCredentials } from './login-api/credentials.js';
import { createRecord, type SandboxRequest } from './record.js';
import { keepState } from './state.js';
import { createDialect, createFaults, type SandboxDialect } from './switches.js';

/** Options of {@link createSandbox}; every one can be left out. */
export interface SandboxOptions {
  /** Parts that replace the default seed's: users, workspaces, apps, items, purchases. Or an answer of items/all. */
  seed?: Partial<SandboxSeed> | undefined;
  /** The time to start from, as a function that gives epoch milliseconds. Default: `Date.now`. */
  clock?: (() => number) | undefined;
  /** Differences from the specification to start with. Default: none. */
  dialect?: Partial<SandboxDialect> | undefined;
  /** The redirect URL of the first app. Default: the seed's; without one, the login page asks for it. */
  redirectUrl?: string | undefined;
  /**
   * Host names under which the console and the API of the sandbox can be used, besides localhost and IP
   * addresses: `['sandbox.example.test']`, say, behind a proxy. Default: none, because other websites
   * could use such a name.
   */
  consoleHosts?: readonly string[] | undefined;
  /**
   * A file in which purchases, keys, users and switches outlive a restart: read at the start, if it exists, in
   * place of `seed` and `dialect`, and written at every change. It holds secrets. Default: none.
   */
  state?: string | undefined;
  /** Whether keys, tokens and codes are the same in every run. Default: false. */
  deterministic?: boolean | undefined;
  /** Called with each request when its answer has ended, except those of the console. Default: not called. */
  onRequest?: ((request: SandboxRequest) => void) | undefined;
}

const aFunction = z.custom<(...args: never[]) => unknown>(
  (value) => typeof value === 'function',
  'expected a function',
);
const anObject = z.custom<object>(
  (value) => typeof value === 'object' && value !== null,
  'expected an object',
);
const isHostName = (name: string) => hostnameOf(name) !== '' && !/[:/?#@\\]/.test(name);
const optionsSchema = z.partial(
  z.strictObject({
    seed: anObject,
    clock: aFunction.check(
      z.refine((clock) => Number.isFinite(clock()), 'expected a function that gives milliseconds'),
    ),
    dialect: anObject,
    redirectUrl,
    consoleHosts: z
      .array(z.string())
      .check(z.refine((names) => names.every(isHostName), 'expected host names, without a port')),
    state: z.string().check(z.minLength(1, 'expected the name of a file')),
    deterministic: z.boolean(),
    onRequest: aFunction,
  } satisfies Record<keyof SandboxOptions, z.ZodMiniType>),
);

/** The parts of one sandbox. */
export type SandboxContext = ReturnType<typeof createContext>;

/**
 * Makes the parts of one sandbox.
 *
 * @throws TypeError that names what is wrong with the options.
 */
export function createContext(options: SandboxOptions) {
  parseOrThrow(optionsSchema, options, 'createSandbox');
  /** Writes the state file, if there is one. */
  let save = (): void => {};
  let isChanging = false;
  /** Makes a change of what a state file holds, and saves it. A change within a change is saved with that. */
  const change = (make: () => void): void => {
    if (isChanging) return void make();
    isChanging = true;
    try {
      make();
    } finally {
      isChanging = false;
    }
    save();
  };
  /** What switches count: requests by address, and errors that are due by scope. They start again with a switch. */
  const counts = { requests: new Map<string, number>(), errors: new Map<string, number>() };
  const setSwitch = (key: string, make: () => void) => {
    change(make);
    // The faults themselves count `times` down.
    if (key !== 'times') for (const each of Object.values(counts)) each.clear();
  };
  /** How many secrets were drawn. */
  const drawn = { count: 0 };
  /** Makes a secret of up to 32 bytes, in hex. */
  const draw = (bytes: number): string => {
    drawn.count++;
    if (!options.deterministic) return randomBytes(bytes).toString('hex');
    const digest = createHash('sha256').update(`marketgate sandbox ${drawn.count}`).digest('hex');
    return digest.slice(0, 2 * bytes);
  };
  const clock = createClock(options.clock ?? Date.now);
  const dialect = createDialect(options.dialect, setSwitch);
  const { faults, scopes: faultScopes } = createFaults(setSwitch);
  const credentials = createCredentials(clock, dialect, draw);
  const freshSeed = () => buildSeed(options.seed, clock.now());
  const seed = freshSeed();
  const context = {
    ...{ clock, dialect, faults, faultScopes, counts, credentials, drawn, change },
    /** What `data` reads and changes. */
    seed,
    data: new SandboxData({ seed, freshSeed, clock, credentials, change, draw }),
    record: createRecord(clock, options.onRequest),
    /** The names under which the console answers, besides localhost and addresses. */
    consoleHosts: new Set(options.consoleHosts?.map(hostnameOf)),
  };
  if (options.state !== undefined) save = keepState(context, options.state);
  return context;
}

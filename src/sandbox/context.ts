import * as z from 'zod/mini';
import { createClock } from './clock.js';
import { createCredentials } from './credentials.js';
import { SandboxData } from './data.js';
import { hostnameOf } from './guard.js';
import { createRecord, type SandboxRequest } from './record.js';
import { parseOrThrow, redirectUrl, type SandboxSeed } from './schema.js';
import { buildSeed } from './seed.js';
import { createSwitches, type SandboxDialect } from './switches.js';

/** Options of {@link createSandbox}; every one can be left out. */
export interface SandboxOptions {
  /** Parts that replace the default seed's: users, workspaces, apps, items, purchases. */
  seed?: Partial<SandboxSeed> | undefined;
  /** The time to start from, as a function that gives epoch milliseconds. Default: `Date.now`. */
  clock?: (() => number) | undefined;
  /** Differences from the specification to start with. Default: none. */
  dialect?: Partial<SandboxDialect> | undefined;
  /**
   * The redirect URL of the first app. Default: the seed's, which is `http://localhost:3000/callback`; for an app without
   * one, the login page asks for it.
   */
  redirectUrl?: string | undefined;
  /**
   * Host names under which the console and the API of the sandbox can be used, besides localhost and IP
   * addresses: `['sandbox.example.test']`, say, behind a proxy. Default: none, because other websites
   * could use such a name.
   */
  consoleHosts?: readonly string[] | undefined;
  /**
   * Changes the JSON of any answer of both APIs, for tests of your own: it gets the path and the body, and returns the body
   * to send, or text that is sent in place of JSON. Default: the answers of the specification.
   *
   * @example answer: (path, body) => path === '/api/items/all' ? { ...body, items: [] } : body
   */
  // biome-ignore lint/suspicious/noExplicitAny: a test knows which answer it changes.
  answer?: ((path: string, body: any) => unknown) | undefined;
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
    answer: aFunction,
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
  /** What switches count: requests by address, and errors that are due by scope. They start again with a switch. */
  const counts = { requests: new Map<string, number>(), errors: new Map<string, number>() };
  const onChange = () => {
    for (const each of Object.values(counts)) each.clear();
  };
  const clock = createClock(options.clock ?? (() => Date.now()));
  const switches = createSwitches(options.dialect, onChange);
  const credentials = createCredentials(clock, switches.dialect);
  const freshSeed = () => buildSeed(options.seed, clock.now());
  return {
    ...{ ...switches, clock, counts, credentials, answer: options.answer },
    data: new SandboxData({ freshSeed, clock, credentials }),
    record: createRecord(clock, options.onRequest),
    /** The names under which the console answers, besides localhost and addresses. */
    consoleHosts: new Set(options.consoleHosts?.map(hostnameOf)),
  };
}

import type { ClientKind } from '../../../support/redis-server.js';

/** How one process of the fleet is made. */
export interface MemberSettings {
  readonly redisUrl: string;
  readonly client: Extract<ClientKind, 'node-redis' | 'ioredis'>;
  readonly serviceUrl: string;
  readonly apiKey: string;
  /** Of KeyApi's cache, in milliseconds. */
  readonly limits: Readonly<Record<string, number>>;
  /** Base64, 32 bytes. Without it tokens are kept as they are. */
  readonly tokenKey?: string;
  /** How many failed attempts the fleet allows one visitor in a minute. */
  readonly guessLimit: number;
  /**
   * Calls to Redis have a minute, and rests do not end by themselves: what is tested is not what a process
   * does when it cannot reach the shared cache, as happens on a busy machine.
   */
  readonly isPatient?: boolean;
  /** Milliseconds by which its clock is wrong. */
  readonly skew?: number;
  /** Locks live that many times longer, for the same reason. */
  readonly lockFactor?: number;
}

/** How a number of lookups ended. */
export interface Outcomes {
  requests: number;
  yes: number;
  no: number;
  /** Lookups that ended in an exception, or in a status of 500 or more. */
  failed: number;
  /** The first few failures, for the message of a failing test. */
  why: string[];
  slowest: number;
}

/** What came of a load, up to now. */
export interface LoadOutcomes extends Outcomes {
  tokens: { found: number; missing: number; refused: number; other: number; slowest: number };
}

export type TokenAnswer = { value?: string; error?: string };

/** What a process of the fleet can be asked to do: each with what it takes and what it gives. */
export interface Commands {
  /** Makes a new member in this process. */
  begin: [input: MemberSettings, output: undefined];
  /** Closes it. */
  end: [input: object, output: undefined];
  /** Moves the time of all deadlines and rests. */
  pass: [input: { milliseconds: number }, output: undefined];
  ask: [
    input: { code: string; times: number; via: 'client' | 'guard'; fresh?: boolean },
    output: Outcomes,
  ];
  /** Asks for each of the codes, some at once, at a moment of the simulated time. */
  traffic: [input: { now: number; codes: string[] }, output: Outcomes];
  peek: [input: { code: string }, output: 'yes' | 'no' | 'nothing'];
  /** Whether the shared cache could be told. */
  invalidate: [input: { code?: string }, output: boolean];
  /** Settles when `peek` says nothing about the code any more. */
  forgotten: [input: { code: string }, output: unknown];
  /** One guarded request of a visitor; gives the status. */
  visit: [input: { code: string; visitor: string }, output: number];
  startLoad: [input: { name: string; hot: string[]; user: string }, output: unknown];
  load: [input: object, output: LoadOutcomes];
  stopLoad: [input: object, output: LoadOutcomes];
  setToken: [input: { user: string; value: string }, output: TokenAnswer];
  getToken: [input: { user: string }, output: TokenAnswer];
  claim: [input: { name: string }, output: boolean];
}

export type CommandName = keyof Commands;
export type Input<K extends CommandName> = Commands[K][0];
export type Output<K extends CommandName> = Commands[K][1];

export type Handlers = { readonly [K in CommandName]: (input: Input<K>) => Promise<Output<K>> };

export interface Order {
  readonly id: number;
  readonly name: CommandName;
  readonly input: unknown;
}

export interface Reply {
  readonly id: number;
  readonly output?: unknown;
  readonly error?: string;
}

/** Milliseconds of a clock that no test stops. */
export const machineTime = (): number => Number(process.hrtime.bigint()) / 1e6;

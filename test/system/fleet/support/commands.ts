import { isMarketgateError } from 'marketgate';
import type { ClientKind } from '../../../support/redis-server.js';

export interface MemberSettings {
  readonly redisUrl: string;
  readonly client: Extract<ClientKind, 'node-redis' | 'ioredis'>;
  readonly serviceUrl: string;
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

export interface Outcomes {
  yes: number;
  no: number;
  /** The first few that ended in an exception, or in a status of 500 or more. */
  why: string[];
}

export const noOutcomes = (): Outcomes => ({ yes: 0, no: 0, why: [] });

/** Runs one lookup, and takes in how it ended. */
export async function note(outcomes: Outcomes, lookUp: () => Promise<'yes' | 'no'>): Promise<void> {
  try {
    outcomes[await lookUp()]++;
  } catch (error) {
    if (outcomes.why.length < 3) outcomes.why.push(wordsFor(error));
  }
}

/** Takes several processes' outcomes together. */
export function sum(all: readonly Outcomes[]): Outcomes {
  const total = noOutcomes();
  for (const each of all) {
    total.yes += each.yes;
    total.no += each.no;
    total.why.push(...each.why);
  }
  return total;
}

export const wordsFor = (error: unknown): string =>
  isMarketgateError(error) ? `${error.code}: ${error.message}` : String(error);

/** What a process of the fleet can be asked to do: each with what it takes and what it gives. */
export interface Commands {
  /** Makes a new member in this process. */
  begin: [input: MemberSettings, output: undefined];
  end: [input: object, output: undefined];
  /** Moves the time of all deadlines and rests. */
  pass: [input: { milliseconds: number }, output: undefined];
  ask: [
    input: { code: string; times: number; via: 'client' | 'guard'; fresh?: boolean },
    output: Outcomes,
  ];
  peek: [input: { code: string }, output: 'yes' | 'no' | 'nothing'];
  /** Whether the shared cache could be told. */
  invalidate: [input: { code?: string }, output: boolean];
  /** Settles when `peek` says nothing about the code any more. */
  forgotten: [input: { code: string }, output: unknown];
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

import { isMarketgateError } from 'marketgate';
import type { ClientKind } from '../../../support/redis-server.js';

export interface MemberSettings {
  readonly redisUrl: string;
  readonly client: Extract<ClientKind, 'node-redis' | 'ioredis'>;
  readonly serviceUrl: string;
  /** Milliseconds by which its clock is wrong. */
  readonly skew?: number;
}

export interface Outcomes {
  yes: number;
  no: number;
  /** Those that ended in an exception. */
  why: string[];
}

/** Takes several processes' outcomes together. */
export const sum = (all: readonly Outcomes[]): Outcomes => ({
  yes: all.reduce((total, { yes }) => total + yes, 0),
  no: all.reduce((total, { no }) => total + no, 0),
  why: all.flatMap(({ why }) => why),
});

export const wordsFor = (error: unknown): string =>
  isMarketgateError(error) ? `${error.code}: ${error.message}` : String(error);

/** What a process of the fleet can be asked to do: each with what it takes and what it gives. */
export interface Commands {
  /** Makes a new member in this process. */
  begin: [input: MemberSettings, output: undefined];
  end: [input: object, output: undefined];
  /** Moves the time of all deadlines and rests. */
  pass: [input: { milliseconds: number }, output: undefined];
  ask: [input: { code: string; times?: number; fresh?: boolean }, output: Outcomes];
  peek: [input: { code: string }, output: 'yes' | 'no' | 'nothing'];
  invalidate: [input: { code: string }, output: undefined];
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

import type { LookupMessage } from '../../diagnostics/lookup.js';
import type { Answered } from './flights.js';

/** How the service is asked. */
export interface AskHow {
  /** There when nobody waits for the answer; ends it on close. */
  signal?: AbortSignal | undefined;
  /** Whether a no would erase a yes. */
  isGrave: boolean;
  /** Milliseconds that were spent on the shared cache. */
  spent: number;
}

/** Asks the service. */
export type Ask<T> = (key: string, how: AskHow) => Promise<T | null>;

/**
 * Makes an answer what all callers can share: frozen, with one copy of what it has in common with
 * others. May change what it is given, and get what it has made before.
 */
export type Settle<T> = (value: T, key: string) => T;

/** How one lookup wants it. */
export interface LookupOptions {
  signal?: AbortSignal | undefined;
  /** Ask the service, whatever is kept. */
  fresh?: boolean | undefined;
  /** Called when the answer came from another process. */
  onShared?: (() => void) | undefined;
}

/** How a question is begun. */
export interface StartHow {
  readonly signal?: AbortSignal | undefined;
  readonly isFresh?: boolean | undefined;
  readonly onShared?: (() => void) | undefined;
}

/** Where an answer is being looked for. */
export interface Trace {
  source: LookupMessage['source'];
}

/** The part of a fleet's shared answers that belongs to one cache. */
export interface FleetSpace<T> {
  answer(
    key: string,
    ask: (spent: number) => Promise<Answered<T>>,
    keep: (stale: Answered<T>) => void,
  ): Promise<Answered<T>>;
  tell(key: string, answered: Answered<T>): Promise<void>;
  /** A no that erases a yes: the others must not go on serving theirs. */
  erase(key: string, no: Answered<T>): Promise<void>;
}

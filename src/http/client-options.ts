import type { Dispatcher } from 'undici';
import { monotonic } from '../deadline.js';
import {
  countOption,
  flagOption,
  functionOption,
  positiveOption,
  shapedOption,
} from '../options.js';

/** What both clients, {@link KeyApi} and {@link LoginApi}, can be told about speaking HTTP. */
export interface ClientOptions {
  /** Milliseconds for one whole call with its retries and waits. Default 10,000. */
  timeout?: number | undefined;
  /** Bytes of an answer's body that are read at most; a longer one is refused. Default 16 MiB. */
  maxResponseBytes?: number | undefined;
  /**
   * How often a failed request is sent again, where that is safe. Default 2; 0 turns it off. The
   * exchange of an auth_key is never repeated, for it spends the key.
   */
  retries?: number | undefined;
  /**
   * Allow plain http to a host that is not loopback. Default false: the secrets would travel in
   * clear.
   */
  allowInsecure?: boolean | undefined;
  /**
   * An undici (7 or newer) `Dispatcher` to send through: a proxy agent, or a mock in tests. It stays
   * yours: `close()` leaves it open. Default: an own keep-alive pool.
   */
  dispatcher?: Dispatcher | undefined;
  /** The present as epoch milliseconds. Default `Date.now`. For tests. */
  clock?: (() => number) | undefined;
}

/** The names of {@link ClientOptions}, to check for unknown ones. */
export const CLIENT_OPTION_NAMES = [
  'timeout',
  'maxResponseBytes',
  'retries',
  'allowInsecure',
  'dispatcher',
  'clock',
] as const;

/** {@link ClientOptions}, checked and complete. */
export interface ClientSettings {
  readonly timeout: number;
  readonly maxResponseBytes: number;
  readonly retries: number;
  readonly allowInsecure: boolean;
  readonly dispatcher: Dispatcher | undefined;
  /** The present as epoch milliseconds. */
  readonly clock: () => number;
  /** The same, but it never goes back: what durations are measured by. */
  readonly monotonicClock: () => number;
}

// A timer of Node fires at once when it is given more.
const LONGEST_TIMER = 2 ** 31 - 1;

/** @throws TypeError that names the wrong option. */
export function checkClientOptions(owner: string, options: ClientOptions): ClientSettings {
  const { dispatcher } = options;
  const clock = functionOption(owner, 'clock', options.clock) ?? Date.now;
  return {
    timeout: Math.min(
      positiveOption(owner, 'timeout', options.timeout, 10_000, 'milliseconds'),
      LONGEST_TIMER,
    ),
    maxResponseBytes: positiveOption(
      owner,
      'maxResponseBytes',
      options.maxResponseBytes,
      16 * 1024 * 1024,
      'bytes',
    ),
    retries: countOption(owner, 'retries', options.retries, 2),
    allowInsecure: flagOption(owner, 'allowInsecure', options.allowInsecure),
    dispatcher:
      dispatcher === undefined
        ? undefined
        : shapedOption<Dispatcher>(
            owner,
            'dispatcher',
            dispatcher,
            ['dispatch'],
            'an undici Dispatcher',
          ),
    clock,
    monotonicClock: monotonic(clock),
  };
}

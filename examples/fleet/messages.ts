import type { WorkerConfig } from './config.js';

/** What one worker has done so far. */
export interface WorkerTally {
  readonly worker: number;
  readonly pid: number;
  /** Requests of visitors that it answered. */
  answered: number;
  /** Calls to the marketplace, by method and path. */
  readonly upstream: Record<string, number>;
}

/** From the primary to a worker. */
export type ToWorker =
  | { readonly kind: 'start'; readonly config: WorkerConfig }
  | { readonly kind: 'tally'; readonly id: number; readonly tally: WorkerTally[] }
  | { readonly kind: 'stop' };

/** From a worker to the primary. */
export type ToPrimary =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'answered' }
  | { readonly kind: 'asked'; readonly what: string }
  | { readonly kind: 'tally'; readonly id: number };

/** Sends to the primary; a primary that is gone ends its workers anyway. */
export const tellPrimary = (message: ToPrimary): void => void process.send?.(message);

import type { Deadline } from '../deadline.js';
import type { DriftReports } from '../diagnostics.js';
import type { ItemPool } from './item-pool.js';

/** What reading an answer needs beside the answer. */
export interface Reading {
  /** Who tells of what was coped with. */
  readonly drift: DriftReports;
  /** Its `turn`, between slices of long work, lets others go on, and rejects when the call has ended. */
  readonly deadline: Pick<Deadline, 'turn'>;
  /** The items that are kept; absent where nothing is, and answers belong to who asked. */
  readonly pool: ItemPool | undefined;
}

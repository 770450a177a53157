/** How one thing is. */
export interface Finding {
  readonly check: string;
  /**
   * `warning`: it works, but should be looked at. `skipped`: it is not set up, or could not be looked at
   * because something before it is wrong.
   */
  readonly status: 'ok' | 'warning' | 'wrong' | 'skipped';
  /** What was found, and if it is wrong what to do. */
  readonly detail: string;
}

/** A check, in words, that adds to what was found. */
export type Report = (check: string, status: Finding['status'], detail: string) => void;

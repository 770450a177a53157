/** A question under way for the fleet. */
export class Asking {
  readonly subject: string;
  #isOutdated = false;

  constructor(subject: string) {
    this.subject = subject;
  }

  /** Whether its answer must not be shared: it was invalidated while it was under way. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  /** Takes in an invalidation, of one subject or of all. */
  outdate(subject: string | undefined): void {
    if (subject === undefined || subject === this.subject) this.#isOutdated = true;
  }
}

/**
 * Names that are taken for a while, in this process's memory, and a bounded number of them. When it
 * is full, those whose time is over go first; only when all are still running must the oldest one go.
 */
export class MemoryClaims {
  readonly #max: number;
  /** Name to the time it is free again, the oldest claim first. */
  readonly #ends = new Map<string, number>();
  /** No claim ends before this: until then, looking for ended ones is wasted. */
  #soonest = Number.POSITIVE_INFINITY;

  constructor(max: number) {
    this.#max = max;
  }

  /** True for the first caller with this name until `ttl` milliseconds after `now`. */
  claim(name: string, ttl: number, now: number): boolean {
    if ((this.#ends.get(name) ?? now) > now) return false;
    // Taken out first, so that the map stays in the order of the claims.
    this.#ends.delete(name);
    if (this.#ends.size >= this.#max) this.#makeRoom(now);
    this.#ends.set(name, now + ttl);
    this.#soonest = Math.min(this.#soonest, now + ttl);
    return true;
  }

  #makeRoom(now: number): void {
    if (this.#soonest <= now) {
      this.#soonest = Number.POSITIVE_INFINITY;
      for (const [name, end] of this.#ends) {
        if (end <= now) this.#ends.delete(name);
        else this.#soonest = Math.min(this.#soonest, end);
      }
    }
    if (this.#ends.size < this.#max) return;
    for (const oldest of this.#ends.keys()) {
      this.#ends.delete(oldest);
      return;
    }
  }
}

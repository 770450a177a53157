import { LRUCache } from 'lru-cache';

/**
 * The entries that were used last, at most `max`. It grows with them: `new LRUCache({ max })` makes room for all of them
 * when it is made, which takes a millisecond and 200 kB for 10,000, and clears it whenever the last entry is deleted.
 */
export const lru = <K extends {}, V extends {}>(max: number): LRUCache<K, V> =>
  new LRUCache({ maxSize: max, sizeCalculation: () => 1 });

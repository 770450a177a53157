import { type Item, itemSchema } from '../model/item.js';
import { type Checker, checkerOf, freezerOf } from '../shape/checker.js';
import { readShape, type Shaped } from '../shape/read-shape.js';
import type { Reading } from './reading.js';

/** Milliseconds after which a long list is read on in another turn. */
const SLICE = 5;
/** Items between looks at the clock. */
const STRIDE = 32;

/**
 * The list of items/all. One broken item does not sink the list: it is left out and reported. A list
 * of which nothing can be read is no list. A long one is read in slices, so that nobody waits for it.
 */
export function readItems(
  value: unknown,
  endpoint: string,
  reading: Reading,
): Shaped<Item[]> | Promise<Shaped<Item[]>> | undefined {
  const list = asArray(value);
  if (list === undefined) return undefined;
  const reader = new ListReader(list, endpoint, reading);
  return reader.readSlice() ? reader.result() : reader.readInTurns();
}

const isListable = checkerOf(itemSchema);

class ListReader {
  readonly #list: readonly unknown[];
  readonly #endpoint: string;
  readonly #reading: Reading;
  readonly #items: Item[] = [];
  readonly #isShaped: Checker;
  #next = 0;
  #firstProblem: string | undefined;

  constructor(list: readonly unknown[], endpoint: string, reading: Reading) {
    this.#list = list;
    this.#endpoint = endpoint;
    this.#reading = reading;
    this.#isShaped = reading.pool ? freezerOf(itemSchema) : checkerOf(itemSchema);
  }

  /** Whether it came to the end of the list. */
  readSlice(): boolean {
    const end = performance.now() + SLICE;
    while (this.#next < this.#list.length) {
      this.#read(this.#next++);
      if (this.#next % STRIDE === 0 && performance.now() >= end) break;
    }
    return this.#next >= this.#list.length;
  }

  async readInTurns(): Promise<Shaped<Item[]>> {
    do {
      await this.#reading.deadline.turn();
    } while (!this.readSlice());
    return this.result();
  }

  result(): Shaped<Item[]> {
    const items = this.#items;
    if (items.length === 0 && this.#firstProblem !== undefined) {
      return { ok: false, problem: this.#firstProblem };
    }
    const { pool } = this.#reading;
    if (pool !== undefined) pool.setCatalogue(Object.freeze(items));
    return { ok: true, value: items };
  }

  #read(i: number): void {
    const { pool, drift } = this.#reading;
    const element = this.#list[i];
    const shared = pool?.find(element);
    // Of a purchase's item less is asked than of one that is listed.
    const known = shared !== undefined && isListable(shared) ? shared : undefined;
    if (known !== undefined || this.#isShaped(element)) {
      this.#items.push(known ?? (element as Item));
      return;
    }
    // Only now, for it costs more: what was drifting, and where.
    const endpoint = this.#endpoint;
    const shaped = readShape(
      itemSchema,
      element,
      endpoint,
      `items[${i}]`,
      drift,
      pool !== undefined,
    );
    if (shaped.ok) {
      this.#items.push(shaped.value as Item);
      return;
    }
    this.#firstProblem ??= shaped.problem;
    const [path = '', problem = ''] = shaped.problem.split(': ');
    const [expected = ''] = problem.split(', received ');
    drift.report({ endpoint, kind: 'dropped', path, expected });
  }
}

/** PHP encodes a list with gaps in its numbering as an object. */
function asArray(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  const keys = Object.keys(value);
  // `{}` is an empty map, and no list.
  const isList = keys.length > 0 && keys.every((key) => /^\d+$/.test(key));
  return isList ? Object.values(value) : undefined;
}

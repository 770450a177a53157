import type { Item } from '../model/item.js';
import { deepFreeze } from '../shape/deep-freeze.js';
import { sameJson } from '../shape/same-json.js';

/** Items by their id. */
export type ItemIndex = ReadonlyMap<number, Item>;

/** Entries at which the pool first looks for those whose item is gone. */
const FIRST_SWEEP = 1024;

/**
 * One frozen copy of each item, however many purchases and lists hold it: that is most of what a kept
 * purchase would weigh. Items are compared whole, so that two versions of one are never mixed up. The
 * pool itself keeps none alive.
 */
export class ItemPool {
  readonly #items = new Map<number, WeakRef<Item>>();
  readonly #indexes = new WeakMap<readonly Item[], Map<number, Item>>();
  #catalogue: WeakRef<readonly Item[]> | undefined;
  #sweepAt = FIRST_SWEEP;

  /** How many items are known, those included that nobody holds any more. */
  get size(): number {
    return this.#items.size;
  }

  /** The copy that all purchases share, of an item of the documented shape. */
  intern(item: Item): Item {
    const known = this.find(item);
    if (known !== undefined) return known;
    const list = this.#catalogue?.deref();
    const listed = list && this.indexOf(list).get(item.id);
    const copy = listed !== undefined && sameJson(listed, item) ? listed : deepFreeze(item);
    if (this.#items.size >= this.#sweepAt) this.#sweep();
    this.#items.set(item.id, new WeakRef(copy));
    return copy;
  }

  /** The copy that purchases share of what is just like it, if there is one. */
  find(item: unknown): Item | undefined {
    if (typeof item !== 'object' || item === null) return undefined;
    const { id } = item as Partial<Item>;
    const known = typeof id === 'number' ? this.#items.get(id)?.deref() : undefined;
    return known !== undefined && sameJson(known, item) ? known : undefined;
  }

  /** A list with the copies that all share, frozen. */
  internList(list: Item[]): Item[] {
    if (Object.isFrozen(list)) return list;
    const shared = list.map((item) => this.find(item) ?? deepFreeze(item));
    this.setCatalogue(Object.freeze(shared) as Item[]);
    return shared;
  }

  /** Takes a frozen list for the catalogue: purchases share its items from now on. */
  setCatalogue(list: readonly Item[]): void {
    this.#catalogue = new WeakRef(list);
  }

  /** A list by id, made when the first item is looked for in it. */
  indexOf(list: readonly Item[]): ItemIndex {
    return this.#mapOf(list);
  }

  #mapOf(list: readonly Item[]): Map<number, Item> {
    let index = this.#indexes.get(list);
    if (index === undefined) {
      index = new Map(list.map((item) => [item.id, item]));
      this.#indexes.set(list, index);
    }
    return index;
  }

  /** Takes an item out of the index of a list, which itself stays as it was. */
  withdraw(list: readonly Item[], id: number): void {
    this.#mapOf(list).delete(id);
  }

  /** Forgets the items that are gone; again when there are twice as many as are left. */
  #sweep(): void {
    for (const [id, item] of this.#items) {
      if (item.deref() === undefined) this.#items.delete(id);
    }
    this.#sweepAt = Math.max(FIRST_SWEEP, this.#items.size * 2);
  }
}

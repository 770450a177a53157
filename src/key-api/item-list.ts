import { reportDrift } from '../diagnostics/drift.js';
import { readShape, type Shaped } from '../shape/read-shape.js';
import { type Item, itemSchema } from './item.js';

/**
 * The list of items/all. One broken item does not sink the list: it is left out and reported. A list
 * of which nothing can be read is no list.
 */
export function readItems(value: unknown, endpoint: string): Shaped<Item[]> | undefined {
  const list = asArray(value);
  if (list === undefined) return undefined;
  const items: Item[] = [];
  let firstProblem: string | undefined;
  for (const [i, element] of list.entries()) {
    const shaped = readShape(itemSchema, element, endpoint, `items[${i}]`);
    if (shaped.ok) {
      items.push(shaped.value as Item);
    } else {
      firstProblem ??= shaped.problem;
      const [path = '', expected = ''] = shaped.problem.split(': ');
      reportDrift({ endpoint, kind: 'dropped', path, expected });
    }
  }
  if (items.length === 0 && firstProblem !== undefined) return { ok: false, problem: firstProblem };
  return { ok: true, value: items };
}

/** PHP encodes a list with gaps in its numbering as an object. */
function asArray(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.keys(value).every((key) => /^\d+$/.test(key)) ? Object.values(value) : undefined;
}

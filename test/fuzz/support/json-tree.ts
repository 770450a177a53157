/**
 * JSON as text that can be damaged: an object keeps its names in order and as often as they come, so
 * that duplicates and `__proto__` can be written, and any place can hold raw text that is no JSON.
 */
export type JsonTree =
  | { readonly kind: 'raw'; text: string }
  | { readonly kind: 'list'; items: JsonTree[] }
  | { readonly kind: 'object'; entries: [name: string, value: JsonTree][] };

export const raw = (text: string): JsonTree => ({ kind: 'raw', text });

export function treeOf(value: unknown): JsonTree {
  if (Array.isArray(value)) return { kind: 'list', items: value.map(treeOf) };
  if (typeof value !== 'object' || value === null) return raw(JSON.stringify(value) ?? 'null');
  return {
    kind: 'object',
    entries: Object.entries(value).map(([name, inner]) => [name, treeOf(inner)]),
  };
}

export function textOf(tree: JsonTree): string {
  if (tree.kind === 'raw') return tree.text;
  if (tree.kind === 'list') return `[${tree.items.map(textOf).join(',')}]`;
  const entries = tree.entries.map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`);
  return `{${entries.join(',')}}`;
}

/** A place in a tree, by which what stands there can be changed. */
export interface Place {
  readonly get: () => JsonTree;
  readonly set: (tree: JsonTree) => void;
  /** The list or object that it stands in, and where; absent for the root. */
  readonly within?: { readonly parent: JsonTree; readonly index: number };
}

const placeIn = <K extends PropertyKey>(
  holder: Record<K, JsonTree>,
  key: K,
  within?: Place['within'],
): Place => ({
  get: () => holder[key] ?? raw('null'),
  set: (tree) => {
    holder[key] = tree;
  },
  ...(within && { within }),
});

export function placesOf(root: { tree: JsonTree }): Place[] {
  const places = [placeIn(root, 'tree')];
  for (const place of places) {
    const tree = place.get();
    if (tree.kind === 'list') {
      for (const index of tree.items.keys()) {
        places.push(placeIn(tree.items, index, { parent: tree, index }));
      }
    } else if (tree.kind === 'object') {
      for (const [index, entry] of tree.entries.entries()) {
        places.push(placeIn(entry, 1, { parent: tree, index }));
      }
    }
  }
  return places;
}

/** Levels that are compared: JSON may be nested deeper than the stack is. */
const DEEPEST = 32;

/**
 * Whether two values of JSON would be written alike, the order of keys included. Cheaper than writing
 * them: it ends at the first difference, and at once for one and the same object. What is nested very
 * deeply counts as different.
 */
export function sameJson(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (depth === DEEPEST) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && sameElements(a, b, depth)
    );
  }
  const keys = Object.keys(a);
  const others = Object.keys(b);
  if (keys.length !== others.length) return false;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    if (key !== others[i]) return false;
    if (!sameJson(a[key as keyof typeof a], b[key as keyof typeof b], depth + 1)) return false;
  }
  return true;
}

function sameElements(a: readonly unknown[], b: readonly unknown[], depth: number): boolean {
  for (let i = 0; i < a.length; i++) {
    if (!sameJson(a[i], b[i], depth + 1)) return false;
  }
  return true;
}

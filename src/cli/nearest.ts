/** The name that was probably meant: one that differs from what was typed by a letter or two. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  if (typed === '') return undefined;
  const distances = names.map((name) => [distance(typed, name), name] as const);
  const [best] = distances.sort(([a], [b]) => a - b);
  return best && best[0] <= Math.ceil(typed.length / 3) ? best[1] : undefined;
}

/** How many letters must be changed, added or taken out to make one word of another. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, wanted] of [...other].entries()) {
      const change = (row[j] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

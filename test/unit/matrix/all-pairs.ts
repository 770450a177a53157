/** A value that a switch can be set to. */
export type Value = string | number | boolean;

/** One switch with all its values. */
export interface Factor {
  readonly name: string;
  readonly values: readonly Value[];
}

/** One setting of all switches. */
export type Row = Readonly<Record<string, Value>>;

/** Says whether a value keeps what other switches do from being seen, as an outage does. */
export type Hides = (name: string, value: Value) => boolean;

interface Pair {
  readonly a: [name: string, value: Value];
  readonly b: [name: string, value: Value];
}

/** Every pair of values of two different switches. */
export function pairsOf(factors: readonly Factor[]): Pair[] {
  return factors.flatMap((first, i) =>
    factors
      .slice(i + 1)
      .flatMap((second) =>
        first.values.flatMap((a) =>
          second.values.map((b): Pair => ({ a: [first.name, a], b: [second.name, b] })),
        ),
      ),
  );
}

/**
 * Whether a row shows what a pair does: it holds both values, and nothing outside the pair hides
 * them.
 */
export function shows(row: Row, { a, b }: Pair, hides: Hides): boolean {
  if (row[a[0]] !== a[1] || row[b[0]] !== b[1]) return false;
  return Object.entries(row).every(
    ([name, value]) => name === a[0] || name === b[0] || !hides(name, value),
  );
}

/**
 * Few rows that together show every pair of values, found greedily: each row begins with the first
 * pair that is not shown yet, and every further switch takes the value that shows the most of what is
 * left. The same rows every time.
 */
export function allPairs(factors: readonly Factor[], hides: Hides): Row[] {
  const left = new Set(pairsOf(factors));
  const rows: Row[] = [];
  for (const pair of left) {
    const row = complete(factors, pair, [...left], hides);
    rows.push(row);
    for (const other of left) if (shows(row, other, hides)) left.delete(other);
  }
  return rows;
}

function complete(factors: readonly Factor[], begin: Pair, left: Pair[], hides: Hides): Row {
  const row: Record<string, Value> = Object.fromEntries([begin.a, begin.b]);
  for (const { name, values } of factors) {
    if (name in row) continue;
    const open = values.filter((value) => !hides(name, value));
    const gain = (value: Value): number =>
      left.filter((pair) => {
        const other = pair.a[0] === name ? pair.b : pair.b[0] === name ? pair.a : undefined;
        const own = other === pair.b ? pair.a : pair.b;
        return other !== undefined && own[1] === value && row[other[0]] === other[1];
      }).length;
    const [best] = open.toSorted((one, two) => gain(two) - gain(one));
    if (best === undefined) throw new Error(`every value of ${name} hides the others`);
    row[name] = best;
  }
  return row;
}

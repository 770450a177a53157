import { inspect } from 'node:util';

/** Far beyond what an error of ours holds: a body or a request in it would fill this. */
const LONGEST = 200_000;

const DEEP = {
  showHidden: true,
  depth: Number.POSITIVE_INFINITY,
  maxStringLength: LONGEST,
  maxArrayLength: null,
  getters: true,
} as const;

/** All that a log, a debugger or a careless handler could make of a value. */
export function everythingOf(value: unknown): string {
  // `denial.purchase` has the code in it, as documented, and is there for who asks for it by name.
  const isDenial = Object.getOwnPropertyDescriptor(value ?? {}, 'purchase')?.get !== undefined;
  const deep = { ...DEEP, getters: !isDenial };
  const parts = [inspect(value, deep), inspect(value, { ...deep, customInspect: false })];
  parts.push(
    written(() => String(value)),
    asJson(value),
  );
  if (typeof value === 'object' && value !== null) {
    // What a copy takes over, what `for…in` finds, and what is hidden under symbols.
    parts.push(asJson({ ...value }), asJson(Object.getOwnPropertyDescriptors(value)));
  }
  const seen = new Set<unknown>();
  for (let e = value; e instanceof Error && !seen.has(e); e = e.cause) {
    seen.add(e);
    parts.push(e.stack ?? '', e.message, asJson(e), asJson(Object.entries(e)));
  }
  return parts.join('\n').slice(0, LONGEST);
}

const asJson = (value: unknown): string => written(() => JSON.stringify(value));

/** Nothing, where a value cannot be written so. */
function written(write: () => string | undefined): string {
  try {
    return write() ?? '';
  } catch {
    return '';
  }
}

import { inspect } from 'node:util';

/** Far beyond what an error of ours holds: a body or a request in it would fill this. */
const LONGEST = 200_000;

/** All that a log, a debugger or a careless handler could make of a value, its causes included. */
export function everythingOf(value: unknown): string {
  // `denial.purchase` has the code in it, as documented, and is there for who asks for it by name.
  const isDenial = Object.getOwnPropertyDescriptor(value ?? {}, 'purchase')?.get !== undefined;
  const deep = {
    ...{ showHidden: true, depth: Number.POSITIVE_INFINITY, getters: !isDenial },
    ...{ maxStringLength: LONGEST, maxArrayLength: null },
  };
  const parts = [
    () => inspect(value, deep),
    () => inspect(value, { ...deep, customInspect: false }),
    () => String(value),
    () => JSON.stringify(value),
  ];
  return parts.map(written).join('\n').slice(0, LONGEST);
}

/** Nothing, where a value cannot be written so. */
function written(write: () => string | undefined): string {
  try {
    return write() ?? '';
  } catch {
    return '';
  }
}

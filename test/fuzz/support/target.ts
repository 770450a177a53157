import type fc from 'fast-check';

/** Something that is given hostile input, and what must hold whatever it gets. */
export interface Target {
  /** Short, as `npm run fuzz -- --target` takes it. */
  readonly name: string;
  /** What is fuzzed, in words. */
  readonly what: string;
  /** Made anew for each batch, so that none shares a client with another. */
  readonly property: () => fc.IAsyncProperty<unknown[]>;
}

/** A target of a property, whose arguments are of no interest to who runs it. */
export const target = <Args extends unknown[]>(
  name: string,
  what: string,
  property: () => fc.IAsyncProperty<Args>,
): Target => ({ name, what, property: property as unknown as Target['property'] });

import type { SharedRow } from './shared-cache.js';

/** Characters of an answer that are shared at most: a catalogue of megabytes is cheaper to ask for. */
const LARGEST = 512 * 1024;

/** An answer in the shared tier. */
export interface SharedAnswer {
  /** `null`: the service said no. `undefined`: only what was there before is invalid. */
  readonly value: unknown;
  /** The spelling of the key that the service was asked with. */
  readonly variant: string;
  /** Milliseconds since the service was asked. */
  readonly age: number;
  /** Its place in the order of answers: later answers replace earlier ones. */
  readonly order: number;
}

/** A row as it is sealed. */
interface Row {
  readonly no?: boolean;
  readonly value?: unknown;
  readonly variant?: string | undefined;
  /** Milliseconds from the question to the writing, where that is not part of the row's life. */
  readonly age?: number | undefined;
  /** When the service was asked, by the clock of the process that did, in epoch milliseconds. */
  readonly at: number;
  /** Milliseconds from the question until the row expires. */
  readonly life: number;
}

/** As JSON, or `undefined` when that is too long: then no more of it is written than shows it. */
export function writeRow(value: unknown, rest: Row): string | undefined {
  if (!Array.isArray(value)) {
    const text = JSON.stringify({ ...rest, value });
    return text.length > LARGEST ? undefined : text;
  }
  const elements: string[] = [];
  let length = 0;
  for (const element of value) {
    const text = JSON.stringify(element);
    length += text.length + 1;
    if (length > LARGEST) return undefined;
    elements.push(text);
  }
  return `${JSON.stringify(rest).slice(0, -1)},"value":[${elements.join(',')}]}`;
}

/** `undefined`: not what this version of the package writes. */
export function readRow(
  text: string,
  { order, ttl }: SharedRow,
  now: number,
): SharedAnswer | undefined {
  const row = JSON.parse(text) as Partial<Row> | null;
  if (typeof row?.at !== 'number' || typeof row.life !== 'number') return undefined;
  // By how long the row has still to live and by the clocks of two processes, whichever is more: clocks
  // differ, and somebody who can write there can prolong a life. An answer never looks younger than it is.
  const age = Math.max((row.age ?? 0) + row.life - ttl, now - row.at, 0);
  const value = row.value ?? (row.no ? null : undefined);
  return { value, variant: row.variant ?? '', age, order };
}

/** What is left where an answer was withdrawn. */
export const writeTombstone = (row: Omit<Row, 'value'>): string => JSON.stringify(row);

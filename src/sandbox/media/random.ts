/** Numbers from 0 to 1 that are always the same for the same words: pictures must not change on reload. */
export type Random = () => number;

/** Makes a {@link Random} from a text (FNV-1a to seed it, mulberry32 to run it). */
export function randomOf(text: string): Random {
  let state = 2166136261;
  for (const char of text) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 16777619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A number from `least` up to `most`. */
export const between = (random: Random, least: number, most: number): number =>
  least + random() * (most - least);

/** One of `choices`. */
export function pick<T>(random: Random, choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random() * choices.length)] ?? choices[0];
}

/** A number as SVG likes it: short. */
export const short = (value: number): string => String(Math.round(value * 10) / 10);

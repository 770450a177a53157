import { readFileSync } from 'node:fs';

/**
 * A file of the folder `files`: pictures, sounds, the default seed, what the pages have in a browser.
 * The build replaces this module by one that holds them all, because a bundle of an app has no file next to it.
 *
 * @returns `undefined` where there is no such file.
 */
export function fileOf(name: string): Buffer | undefined {
  try {
    return readFileSync(new URL(`./files/${name}`, import.meta.url));
  } catch {
    return undefined;
  }
}

/** A file that is there, as text. */
export const textFile = (name: string): string => String(fileOf(name));

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Where a program would be, by the folders of PATH. */
export const onPath = (name: string): string[] =>
  (process.env.PATH ?? '').split(delimiter).flatMap((folder) => (folder ? join(folder, name) : []));

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesOf } from './blocks.js';
import { ROOT, readPage } from './pages.js';

// Within the repository, so that its packages and its `marketgate` are found. With a dot, so that no
// other tool takes it for sources.
const FOLDER = join(ROOT, 'test/system/docs/.blocks');

/** Writes the files of a page into a folder of its own. Returns the folder. */
export function writePage(page: string, purpose: string): string {
  const folder = join(FOLDER, purpose, page.replace(/\W+/g, '-'));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // Blocks are modules, whatever the package around them says.
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  for (const [name, text] of filesOf(readPage(page))) writeFileSync(join(folder, name), text);
  return folder;
}

/** Removes what was written for a purpose. */
export const removePages = (purpose: string): void =>
  rmSync(join(FOLDER, purpose), { recursive: true, force: true });

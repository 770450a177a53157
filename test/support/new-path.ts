import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A path in a folder of the test's own, which is there until the test ends. */
export function newPath(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'marketgate-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

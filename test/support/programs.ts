import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** A program by its name or path; `undefined` if it is not on this machine. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return [name, ...folders.map((folder) => join(folder, name))].find(isProgram);
}

/** REDIS_SERVER is a name or a path: `valkey-server` is another one. */
export const REDIS_SERVER = findProgram(process.env.REDIS_SERVER || 'redis-server');

const BROWSERS = [
  ...['chromium-headless-shell', 'chromium', 'chromium-browser'],
  ...['google-chrome', 'google-chrome-stable', 'chrome'],
];

// CHROMIUM_PATH stands alone: falling back to another browser would hide a typing error.
const { CHROMIUM_PATH } = process.env;

/** A browser for the tests; `undefined` if there is none on this machine. */
export const CHROMIUM = (CHROMIUM_PATH ? [CHROMIUM_PATH] : BROWSERS)
  .map(findProgram)
  .find((path) => path !== undefined);

/** What tests are skipped for on this machine, and how to get it. */
export function missingPrograms(): string[] {
  const missing: string[] = [];
  if (REDIS_SERVER === undefined) {
    missing.push(
      'redis-server: "apt-get install redis-server" or "brew install redis"; REDIS_SERVER names another program',
    );
  }
  if (CHROMIUM === undefined) {
    missing.push(
      'Chromium: "apt-get install --no-install-recommends chromium-headless-shell", or Chrome; CHROMIUM_PATH is for a path of your own',
    );
  }
  return missing;
}

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const FIXED = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

const ON_PATH = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'chrome',
];

// Containers give little shared memory and no namespaces; and no test may leave this machine.
const ARGS = [
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function findChromium(): string | undefined {
  const { CHROMIUM_PATH, PATH = '' } = process.env;
  // Who names one wants that one: falling back to another in silence would hide a typing error.
  if (CHROMIUM_PATH) return isProgram(CHROMIUM_PATH) ? CHROMIUM_PATH : undefined;
  const folders = PATH.split(delimiter).filter(Boolean);
  const onPath = ON_PATH.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...FIXED, ...onPath].find(isProgram);
}

/** Where Chromium is on this machine; `undefined` when there is none. */
export const CHROMIUM_PATH: string | undefined = findChromium();

/** For `describe.skipIf`. Says once per test file how to get a browser, so that a skip is not silent. */
export function chromiumIsMissing(): boolean {
  if (CHROMIUM_PATH !== undefined) return false;
  const wrong = process.env.CHROMIUM_PATH;
  console.warn(
    `Browser tests are skipped: ${wrong ? `CHROMIUM_PATH (${wrong}) is no program` : 'no Chromium was found'}. Get one with "apt-get install -y --no-install-recommends chromium-headless-shell", or set CHROMIUM_PATH.`,
  );
  return true;
}

/** Starts Chromium. */
export async function launchChromium(): Promise<Browser> {
  if (CHROMIUM_PATH === undefined) throw new Error('There is no Chromium on this machine.');
  return chromium.launch({ executablePath: CHROMIUM_PATH, args: ARGS });
}

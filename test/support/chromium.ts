import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
} from 'playwright-core';
import { onTestFinished } from 'vitest';
import { isProgram, onPath } from './programs.js';

const NAMES = [
  ...['chromium-headless-shell', 'chromium', 'chromium-browser'],
  ...['google-chrome', 'google-chrome-stable', 'chrome'],
];

const ARGS = [
  // Containers give little shared memory and no namespaces; and no test may leave this machine.
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  // One process for all pages: starting one for each site costs twice what the page does.
  '--disable-site-isolation-trials',
  '--renderer-process-limit=1',
  '--disable-gpu',
  '--in-process-gpu',
  // The name of an attacker points at this machine: DNS rebinding.
  '--host-resolver-rules=MAP evil.example 127.0.0.1',
];

function findChromium(): string | undefined {
  const { CHROMIUM_PATH } = process.env;
  // Who names one wants that one: falling back to another in silence would hide a typing error.
  if (CHROMIUM_PATH) return isProgram(CHROMIUM_PATH) ? CHROMIUM_PATH : undefined;
  return NAMES.flatMap(onPath).find(isProgram);
}

/** Where Chromium is on this machine; `undefined` when there is none. */
const CHROMIUM_PATH: string | undefined = findChromium();

/** For `describe.skipIf`. Says once per test file how to get a browser, so that a skip is not silent. */
export function chromiumIsMissing(): boolean {
  if (CHROMIUM_PATH !== undefined) return false;
  const wrong = process.env.CHROMIUM_PATH;
  console.warn(
    `Browser tests are skipped: ${wrong ? `CHROMIUM_PATH (${wrong}) is no program` : 'no Chromium was found'}. Get one with "apt-get install -y --no-install-recommends chromium-headless-shell", or set CHROMIUM_PATH.`,
  );
  return true;
}

let shared: Promise<Browser> | undefined;

async function launch(): Promise<Browser> {
  if (CHROMIUM_PATH === undefined) throw new Error('There is no Chromium on this machine.');
  const browser = await chromium.launch({
    executablePath: CHROMIUM_PATH,
    args: ARGS,
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
  browser.once('disconnected', () => {
    shared = undefined;
  });
  // vitest ends a worker with SIGTERM, and with SIGKILL half a second later. Chromium would notice both
  // by its closed pipe, but leave its profile behind.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      void browser.close().finally(() => process.kill(process.pid, signal));
    });
  }
  return browser;
}

/** A browser window that nobody has used yet, closed with the test. */
export async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  shared ??= launch();
  const context = await (await shared).newContext(options);
  onTestFinished(() => context.close());
  // Nothing takes longer than this on one machine; without it vitest would cut off a wait that fails.
  context.setDefaultTimeout(40_000);
  return context;
}

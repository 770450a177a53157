import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
} from 'playwright-core';
import { onTestFinished } from 'vitest';
import { CHROMIUM } from './programs.js';

const ARGS = [
  // One process for all pages: starting one for each site costs twice what the page does.
  '--disable-site-isolation-trials',
  '--renderer-process-limit=1',
  '--disable-gpu',
  '--in-process-gpu',
  // The name of an attacker points at this machine: DNS rebinding.
  '--host-resolver-rules=MAP evil.example 127.0.0.1',
];

/** For `describe.skipIf`. The end of the run says how to get a browser. */
export const chromiumIsMissing = (): boolean => CHROMIUM === undefined;

let shared: Promise<Browser> | undefined;

async function launch(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error('There is no Chromium on this machine.');
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
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

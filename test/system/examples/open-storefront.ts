import type express from 'express';
import { KeyApi } from 'marketgate';
import { createSandbox, type SandboxOptions } from 'marketgate/sandbox';
import { onTestFinished } from 'vitest';
import { createApp } from '../../../examples/storefront/app.js';
import { listen } from '../../support/listen.js';

/** Opens the storefront on a sandbox of its own until the test is over. */
export async function openStorefront(version?: typeof express, options: SandboxOptions = {}) {
  const sandbox = createSandbox(options);
  const { baseUrl, apiKey } = await sandbox.listen();
  onTestFinished(() => sandbox.close());
  const keyApi = new KeyApi({ baseUrl, apiKey, clock: sandbox.clock, retries: 0 });
  onTestFinished(() => keyApi.close());
  const app = createApp({
    keyApi,
    shopName: 'Northlight',
    buyUrl: (id) => `https://market.example/item/${id}`,
    mediaOrigin: new URL(baseUrl).origin,
    secret: 'for-the-tests-only-0123456789abcdef',
    ...(version && { express: version }),
  });
  return {
    ...{ sandbox, keyApi, baseUrl, origin: await listen(app) },
    code(kind: string): string {
      const found = sandbox.codes.find((candidate) => candidate.kind === kind);
      if (found === undefined) throw new Error(`the sandbox has no code of kind ${kind}`);
      return found.code;
    },
  };
}

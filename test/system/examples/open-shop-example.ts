import type express from 'express';
import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox, type Sandbox, type SandboxOptions } from 'marketgate/sandbox';
import { onTestFinished } from 'vitest';
import { createApp } from '../../../examples/shop/app.js';
import type { AppConfig } from '../../../examples/shop/config.js';
import { Browser } from '../../support/browser.js';
import { listen } from '../../support/listen.js';

/** The shop, open for business on a sandbox of its own. */
export interface ShopExample {
  readonly origin: string;
  readonly sandbox: Sandbox;
  /** A browser that has not been there yet. */
  readonly browser: Browser;
  /** What the app reported as failures. */
  readonly failures: unknown[];
  /** The first seeded code of a kind. */
  code(kind: string): string;
}

interface Options {
  express?: typeof express;
  config?: Partial<AppConfig>;
  sandbox?: SandboxOptions;
  /** The shop's host in the browser; the server listens on loopback either way. */
  host?: string;
}

/** Opens it until the test is over. */
export async function openShopExample(options: Options = {}): Promise<ShopExample> {
  const sandbox = createSandbox(options.sandbox);
  const service = await sandbox.listen();
  onTestFinished(() => sandbox.close());
  const { baseUrl, apiKey, authUrl, appId, appSecret } = service;
  // The clock, so that a test can let what is cached grow old.
  const keyApi = new KeyApi({ baseUrl, apiKey, clock: sandbox.clock, retries: 0 });
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  onTestFinished(() => keyApi.close());
  onTestFinished(() => loginApi.close());
  const failures: unknown[] = [];
  const app = createApp(
    {
      shopName: 'Northlight Studio',
      marketplaceName: 'Marketplace',
      service: { baseUrl, apiKey, authUrl, appId, appSecret },
      mediaOrigins: [],
      sessionSecret: 'for-the-tests-only-0123456789abcdef',
      production: false,
      confirmLogin: 'auto',
      publicUrl: undefined,
      ...options.config,
    },
    {
      keyApi,
      loginApi,
      ...(options.express && { express: options.express }),
      onError: (error) => failures.push(error),
    },
  );
  const { port } = new URL(await listen(app));
  const origin = `http://${options.host ?? '127.0.0.1'}:${port}`;
  sandbox.redirectUrl = `${origin}/callback`;
  return {
    origin,
    sandbox,
    browser: new Browser(),
    failures,
    code(kind) {
      const found = sandbox.codes.find((candidate) => candidate.kind === kind);
      if (found === undefined) throw new Error(`the sandbox has no code of kind ${kind}`);
      return found.code;
    },
  };
}

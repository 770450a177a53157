import type { Express } from 'express';
import { KeyApi, type KeyApiOptions } from 'marketgate';
import {
  createSandbox,
  type Sandbox,
  type SandboxCode,
  type SandboxOptions,
} from 'marketgate/sandbox';
import { onTestFinished } from 'vitest';

/** A sandbox that listens, and a client of it. */
export interface Shop {
  readonly sandbox: Sandbox;
  readonly keyApi: KeyApi;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The first seeded code of a kind. */
  code(kind: SandboxCode['kind']): string;
  /** How often the service was asked for a path. */
  asked(path: string): number;
}

export const VALIDATION = '/api/purchases/validation';

/** Opens a sandbox with a KeyApi on it, closed with the test. */
export async function openShop(
  options: Partial<KeyApiOptions> = {},
  sandboxOptions: SandboxOptions = {},
): Promise<Shop> {
  const sandbox = createSandbox(sandboxOptions);
  const { baseUrl, apiKey } = await sandbox.listen(0);
  onTestFinished(() => sandbox.close());
  const keyApi = new KeyApi({ baseUrl, apiKey, retries: 0, clock: sandbox.clock, ...options });
  onTestFinished(() => keyApi.close());
  return {
    sandbox,
    keyApi,
    baseUrl,
    apiKey,
    code(kind) {
      const found = sandbox.codes.find((candidate) => candidate.kind === kind);
      if (found === undefined) throw new Error(`the sandbox has no code of kind ${kind}`);
      return found.code;
    },
    asked: (path) => sandbox.requests.filter((request) => request.path === path).length,
  };
}

/** What an app made of a request; counts how often `next` reached its end. */
export interface Endings {
  readonly errors: unknown[];
  handled: number;
}

/** Puts a last handler and a last error handler behind the routes, which count. */
export function countEndings(app: Express): Endings {
  const endings: Endings = { errors: [], handled: 0 };
  app.use((req, res) => {
    endings.handled++;
    res.json({ marketplace: req.marketplace, locals: res.locals.marketplace });
  });
  app.use((error: unknown, _req: unknown, _res: unknown, next: (error: unknown) => void) => {
    endings.errors.push(error);
    next(error);
  });
  return endings;
}

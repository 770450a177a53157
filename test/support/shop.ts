import type { RequestListener } from 'node:http';
import { KeyApi, type KeyApiOptions, LoginApi } from 'marketgate';
import {
  createSandbox,
  type Sandbox,
  type SandboxCode,
  type SandboxOptions,
} from 'marketgate/sandbox';
import { onTestFinished } from 'vitest';
import { listen } from './listen.js';

/** The first seeded code of a kind. */
export function codeOf({ codes }: Sandbox, kind: SandboxCode['kind']): string {
  const found = codes.find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`the sandbox has no code of kind ${kind}`);
  return found.code;
}

/** Opens a sandbox with a KeyApi on it, closed with the test. */
export async function openShop(
  options: Partial<KeyApiOptions> = {},
  sandboxOptions: SandboxOptions = {},
) {
  const sandbox = createSandbox(sandboxOptions);
  const { baseUrl, apiKey, authUrl, appId, appSecret } = await sandbox.listen(0);
  onTestFinished(() => sandbox.close());
  const { clock } = sandbox;
  const keyApi = new KeyApi({ baseUrl, apiKey, retries: 0, clock, ...options });
  const loginApi = new LoginApi({ authUrl, appId, appSecret, clock });
  onTestFinished(async () => void (await Promise.all([keyApi.close(), loginApi.close()])));
  return {
    sandbox,
    keyApi,
    loginApi,
    /** What a further LoginApi of the same app needs. */
    app: { authUrl, appId, appSecret, clock },
    baseUrl,
    apiKey,
    code: (kind: SandboxCode['kind']) => codeOf(sandbox, kind),
    asked: (path: string) => sandbox.requests.filter((request) => request.path === path).length,
    /** Serves an app to which the sandbox sends logins back. Returns its origin. */
    async serve(app: RequestListener, host = '127.0.0.1') {
      const origin = (await listen(app)).replace('127.0.0.1', host);
      sandbox.redirectUrl = `${origin}/callback`;
      return origin;
    },
  };
}

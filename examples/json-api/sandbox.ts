import { createSandbox, type Sandbox } from 'marketgate/sandbox';
import type { ServiceConfig } from './config.js';

/** A marketplace inside this process: no account, no network. It sends visitors back to this app. */
export async function startSandbox(
  redirectUrl: string,
): Promise<{ sandbox: Sandbox; service: ServiceConfig }> {
  const sandbox = createSandbox({
    redirectUrl,
    seed: { apps: [{ app_id: 'json-api', app_secret: 'only-for-the-sandbox', name: 'JSON API' }] },
  });
  const { baseUrl, authUrl, apiKey, appId, appSecret } = await sandbox.listen();
  return { sandbox, service: { baseUrl, authUrl, apiKey, appId, appSecret } };
}

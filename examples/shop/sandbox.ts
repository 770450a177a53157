import { createSandbox, type Sandbox } from 'marketgate/sandbox';
import type { ServiceConfig } from './config.js';

/** A marketplace inside this process: no account, no network. */
export interface StartedSandbox {
  readonly sandbox: Sandbox;
  readonly service: ServiceConfig;
}

/** Starts a sandbox that knows this shop as its one app. */
export async function startSandbox(shopName: string, redirectUrl: string): Promise<StartedSandbox> {
  const sandbox = createSandbox({
    redirectUrl,
    seed: { apps: [{ app_id: 'shop', app_secret: 'only-for-the-sandbox', name: shopName }] },
  });
  const { baseUrl, authUrl, apiKey, appId, appSecret } = await sandbox.listen();
  return { sandbox, service: { baseUrl, authUrl, apiKey, appId, appSecret } };
}

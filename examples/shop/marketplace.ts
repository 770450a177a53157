import { KeyApi, LoginApi } from 'marketgate';
import type { ServiceConfig } from './config.js';

/** The two clients of the marketplace: one for the shop's own data, one for its visitors' logins. */
export interface Marketplace {
  readonly keyApi: KeyApi;
  readonly loginApi: LoginApi;
  /** Ends their connections. */
  close(): Promise<void>;
}

/** One of each for the whole process: they keep connections open between requests. */
export function connect({
  baseUrl,
  apiKey,
  authUrl,
  appId,
  appSecret,
}: ServiceConfig): Marketplace {
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  return {
    keyApi,
    loginApi,
    async close() {
      await Promise.all([keyApi.close(), loginApi.close()]);
    },
  };
}

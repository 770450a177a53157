import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMarketgateError, KeyApi, LoginApi } from 'marketgate';
import { createApp } from './app.js';
import { CODE_PATTERN } from './errors.js';

/** Where a marketplace is, and what identifies the shop to it. */
export interface Marketplace {
  baseUrl: string;
  apiKey: string;
  authUrl: string;
  appId: string;
  appSecret: string;
}

export interface ShopOptions {
  port: number;
  host?: string | undefined;
  /** Where an item is bought; `{id}` is its number. */
  itemUrl?: string | undefined;
  sessionSecret?: string | undefined;
  production?: boolean;
  /** The time of a sandbox. */
  clock?: () => number;
}

/** Starts the shop on a marketplace. */
export async function startShop(marketplace: Marketplace, options: ShopOptions) {
  const { baseUrl, apiKey, authUrl, appId, appSecret } = marketplace;
  const { port, host = '::', production = false, clock } = options;
  const keyApi = new KeyApi({ baseUrl, apiKey, codePattern: CODE_PATTERN, clock });
  const loginApi = new LoginApi({ authUrl, appId, appSecret, clock });
  const app = createApp({
    ...{ keyApi, loginApi, production, clock },
    mediaOrigin: new URL(baseUrl).origin,
    // A sandbox sells on its console.
    buyUrl: ({ id }) =>
      options.itemUrl?.replace('{id}', String(id)) ??
      `${baseUrl}/sandbox/console?item=${id}#purchases`,
    sessionSecret: options.sessionSecret ?? randomBytes(32).toString('hex'),
    // The path without the query, which can contain an auth_key.
    onError: (error, req) =>
      console.error(`${req.method} ${req.path}:`, isMarketgateError(error) ? error.message : error),
  });
  const server = createServer(app).listen(port, host);
  await once(server, 'listening');
  return {
    server,
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    /** Ends with the last response in progress. */
    async close() {
      server.close();
      server.closeIdleConnections();
      await once(server, 'close');
      await Promise.all([keyApi.close(), loginApi.close()]);
    },
  };
}

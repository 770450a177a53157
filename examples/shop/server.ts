import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { isMarketgateError, KeyApi, LoginApi } from 'marketgate';
import type { SandboxCode } from 'marketgate/sandbox';
import { createApp, SHOP_NAME } from './app.js';
import { CODE_PATTERN } from './errors.js';

const { env } = process;
const production = env.NODE_ENV === 'production';

const NAMES = ['BASE_URL', 'API_KEY', 'AUTH_URL', 'APP_ID', 'APP_SECRET'].map(
  (name) => `MARKETPLACE_${name}`,
);
const missing = NAMES.filter((name) => !env[name]);
if (production && !env.SESSION_SECRET) missing.push('SESSION_SECRET');
// None of the marketplace's variables: the shop runs on a sandbox.
const usesSandbox = !production && NAMES.every((name) => !env[name]);
if (missing.length > 0 && !usesSandbox) {
  console.error(`Set ${missing.join(', ')}.`);
  process.exit(1);
}

// The marketplace's login page shows the name of the app.
const registered = {
  app_id: '18230471',
  app_secret: randomBytes(16).toString('hex'),
  name: SHOP_NAME,
};
const sandbox = usesSandbox
  ? (await import('marketgate/sandbox')).createSandbox({ seed: { apps: [registered] } })
  : undefined;
const [baseUrl = '', apiKey = '', authUrl = '', appId = '', appSecret = ''] = sandbox
  ? await sandbox.listen().then((s) => [s.baseUrl, s.apiKey, s.authUrl, s.appId, s.appSecret])
  : NAMES.map((name) => env[name]);

const keyApi = new KeyApi({ baseUrl, apiKey, codePattern: CODE_PATTERN });
const loginApi = new LoginApi({ authUrl, appId, appSecret });
const app = createApp({
  ...{ keyApi, loginApi, production },
  mediaOrigin: new URL(baseUrl).origin,
  // In the sandbox, purchases are made on its console.
  buyUrl: ({ id }) =>
    env.ITEM_URL?.replace('{id}', String(id)) ??
    `${baseUrl}/sandbox/console?item=${id}#add-purchase`,
  sessionSecret: env.SESSION_SECRET ?? randomBytes(32).toString('hex'),
  // The path without the query, which can contain an auth_key.
  onError: (error, req) =>
    console.error(`${req.method} ${req.path}:`, isMarketgateError(error) ? error.message : error),
});

const port = Number(env.PORT ?? 3000);
if (!(port >= 0 && port < 65_536)) {
  console.error('PORT must be a number from 0 to 65535.');
  process.exit(1);
}
// A sandbox accepts every login, so the network cannot reach it.
const host = sandbox ? '127.0.0.1' : env.HOST;
const server = app.listen(port, host ?? '::', (error) => {
  if (error) {
    console.error(`${error.message}; choose another port with PORT, or 0 for any.`);
    process.exit(1);
  }
  const origin = env.PUBLIC_URL ?? `http://localhost:${(server.address() as AddressInfo).port}`;
  if (sandbox) sandbox.redirectUrl = `${origin}/callback`;
  console.log(startMessage(origin, sandbox?.codes));
});

// Ends with the last response in progress.
const close = () => {
  server.close(() => void Promise.all([keyApi.close(), loginApi.close(), sandbox?.close()]));
};
process.once('SIGINT', close).once('SIGTERM', close);

function startMessage(origin: string, codes: readonly SandboxCode[] | undefined): string {
  if (codes === undefined) return `The shop is at ${origin}; its redirect URL: ${origin}/callback`;
  const tried = codes
    .slice(0, 6)
    .map(({ code, kind, item_name }) => `${code}  ${item_name}, ${kind}`);
  return `
  ${origin}/  the catalogue
  ${origin}/account  log in as any user, then redeem a code
  ${baseUrl}/  the marketplace: a sandbox that shows requests and switches on faults

  Purchase codes to try at ${origin}/redeem
    ${tried.join('\n    ')}

  Ctrl-C stops it.
`;
}

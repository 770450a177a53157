import { startShop } from './start.js';

const { env } = process;
const NAMES = ['BASE_URL', 'API_KEY', 'AUTH_URL', 'APP_ID', 'APP_SECRET'].map(
  (name) => `MARKETPLACE_${name}`,
);
const production = env.NODE_ENV === 'production';
const missing = [...NAMES, ...(production ? ['SESSION_SECRET'] : [])].filter((name) => !env[name]);
const port = Number(env.PORT ?? 3000);
if (!(port >= 0 && port < 65_536)) {
  console.error('PORT must be a number from 0 to 65535.');
  process.exit(1);
}
if (missing.length > 0) {
  console.error(`Set ${missing.join(', ')}; "npx marketgate demo" shows the shop without.`);
  process.exit(1);
}
const [baseUrl = '', apiKey = '', authUrl = '', appId = '', appSecret = ''] = NAMES.map(
  (name) => env[name],
);
const shop = await startShop(
  { baseUrl, apiKey, authUrl, appId, appSecret },
  {
    ...{ port, host: env.HOST, production },
    ...{ itemUrl: env.ITEM_URL, sessionSecret: env.SESSION_SECRET },
  },
).catch((error: Error) => {
  console.error(`${error.message}; choose another port with PORT, or 0 for any.`);
  process.exit(1);
});
const origin = env.PUBLIC_URL ?? shop.origin;
console.log(`The shop is at ${origin}; its redirect URL: ${origin}/callback`);
process.once('SIGINT', shop.close).once('SIGTERM', shop.close);

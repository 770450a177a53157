import { inspect } from 'node:util';
import { LoginApi, MarketplaceStrategy } from 'marketgate';
import { it } from 'vitest';
import { SENTINEL } from '../../support/secrets/support/secret-forms.js';
import { expectClean } from '../../support/secrets/support/sentinels.js';
import { openShop } from '../../support/shop.js';
import { cli } from '../cli/support.js';

// What apps answer is looked through around every test (test/support/secrets), what the strategy makes
// of hostile input by its fuzz targets; here is what neither of them sees.

const { apiKey, appSecret, code, cookieSecret, cacheSecret } = SENTINEL;

it('the strategy shows no secret in a debugger, a log or JSON', () => {
  const loginApi = new LoginApi({ authUrl: 'https://market.example', appId: 'app', appSecret });
  const loginAttempts = { cookieSecret: [cookieSecret] };
  const strategy = new MarketplaceStrategy({ loginApi, loginAttempts }, async () => null);
  expectClean(strategy, inspect({ strategy }, { showHidden: true, depth: null }));
});

it('the command line shows no secret: of an outage, in JSON and of wrong usage', async () => {
  const { sandbox, baseUrl } = await openShop();
  sandbox.faults.html = true;
  const environment = {
    ...{ MARKETPLACE_BASE_URL: baseUrl, MARKETPLACE_API_KEY: apiKey },
    ...{ MARKETPLACE_AUTH_URL: baseUrl, MARKETPLACE_APP_ID: 'app-7' },
    MARKETPLACE_APP_SECRET: appSecret,
    REDIS_URL: `redis://user:${cacheSecret}@127.0.0.1:1`,
  };
  const usages = [
    ['doctor'],
    ['doctor', '--json'],
    ['verify', code],
    ['verify', code, '--json'],
    ['verify', code, '--nonsense'],
    ['verify', code, code],
    ['doctor', '--base-url', `https://user:${apiKey}@market.example`],
    ['doctor', '--auth-url', `https://market.example?x=${appSecret}`],
  ];
  for (const args of usages) {
    const { out, err } = await cli(args, environment);
    expectClean(out + err);
  }
});

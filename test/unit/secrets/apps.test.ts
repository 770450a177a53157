import { inspect } from 'node:util';
import { LoginApi, MarketplaceStrategy } from 'marketgate';
import type { SandboxFaults } from 'marketgate/sandbox';
import { describe, it } from 'vitest';
import { SENTINEL } from '../../support/secrets/support/secret-forms.js';
import { expectClean } from '../../support/secrets/support/sentinels.js';
import { openShop } from '../../support/shop.js';
import { cli } from '../cli/support.js';

// What apps answer is looked through around every test (test/support/secrets), what the strategy makes
// of hostile input by its fuzz targets; here is what neither of them sees.

const { apiKey, appSecret, code } = SENTINEL;

it('the strategy shows no secret in a debugger, a log or JSON', () => {
  const loginApi = new LoginApi({ authUrl: 'https://market.example', appId: 'app', appSecret });
  const loginAttempts = { cookieSecret: [SENTINEL.cookieSecret] };
  const strategy = new MarketplaceStrategy({ loginApi, loginAttempts }, async () => null);
  expectClean(strategy, inspect({ strategy }, { showHidden: true, depth: null }));
});

describe('the command line', () => {
  async function output(args: string[], environment: NodeJS.ProcessEnv): Promise<string> {
    const { out, err } = await cli(args, environment);
    return out + err;
  }

  it.each<Partial<SandboxFaults>>([{}, { html: true }])(
    'shows no secret of a service with %j',
    async (faults) => {
      const { sandbox, baseUrl } = await openShop();
      Object.assign(sandbox.faults, faults);
      const environment = {
        MARKETPLACE_BASE_URL: baseUrl,
        MARKETPLACE_API_KEY: apiKey,
        MARKETPLACE_AUTH_URL: baseUrl,
        MARKETPLACE_APP_ID: 'app-7',
        MARKETPLACE_APP_SECRET: appSecret,
        REDIS_URL: `redis://user:${SENTINEL.cacheSecret}@127.0.0.1:1`,
      };
      for (const json of [[], ['--json']]) {
        expectClean(await output(['doctor', ...json], environment));
        expectClean(await output(['verify', code, ...json], environment));
      }
    },
  );

  it.each([
    [['verify', code, '--nonsense']],
    [['verify', code, code]],
    [['doctor', '--base-url', `https://user:${apiKey}@market.example`]],
    [['doctor', '--auth-url', `https://market.example?x=${appSecret}`]],
  ])('shows no secret of wrong usage: %#', async (args) => {
    const environment = {
      MARKETPLACE_BASE_URL: 'http://127.0.0.1:1',
      MARKETPLACE_API_KEY: apiKey,
      MARKETPLACE_APP_ID: 'a',
      MARKETPLACE_APP_SECRET: appSecret,
    };
    expectClean(await output(args, environment));
  });
});

import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp as createFleet } from '../../../examples/fleet/app.js';
import { connectRedis } from '../../../examples/fleet/redis-clients.js';
import { createApp as createJsonApi } from '../../../examples/json-api/app.js';
import { faultsInBothLooks } from '../../support/axe.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { listen } from '../../support/listen.js';
import { anyRedis, redisIsMissing } from '../../support/redis-server.js';
import { runExample } from './run-example.js';

const SECRET = 'for-the-tests-only-0123456789abcdef';

/** What an example needs of a marketplace, until the test is over. */
async function openMarketplace() {
  const sandbox = createSandbox();
  const service = await sandbox.listen();
  onTestFinished(() => sandbox.close());
  const { baseUrl, apiKey, authUrl, appId, appSecret } = service;
  const keyApi = new KeyApi({ baseUrl, apiKey });
  const loginApi = new LoginApi({ authUrl, appId, appSecret });
  onTestFinished(async () => void (await Promise.all([keyApi.close(), loginApi.close()])));
  const code = sandbox.codes.find(({ item_id }) => item_id === 1042)?.code ?? '';
  return { sandbox, service, keyApi, loginApi, code };
}

async function visit(url: string): Promise<Page> {
  const page = await (await newContext()).newPage();
  await page.goto(url);
  return page;
}

/** The same server by another name: to the browser, another site than the marketplace at 127.0.0.1. */
const named = (origin: string): string => origin.replace('127.0.0.1', 'localhost');

async function logIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Mira Solheim' }).click();
  await page.getByRole('button', { name: 'Accept' }).click();
}

describe.skipIf(chromiumIsMissing())('in a browser', () => {
  it('json-api: the front page logs in, downloads, says what is wrong, and logs out', async () => {
    const { sandbox, service, keyApi, loginApi, code } = await openMarketplace();
    let app: ReturnType<typeof createJsonApi> | undefined;
    const origin = named(await listen((req, res) => app?.(req, res)));
    sandbox.redirectUrl = `${origin}/callback`;
    const config = { cookieSecrets: [SECRET], production: false, publicUrl: origin };
    const mediaOrigin = new URL(service.baseUrl).origin;
    app = createJsonApi({ ...config, mediaOrigin }, { keyApi, loginApi });

    const page = await visit(origin);
    await page.getByRole('listitem').filter({ hasText: 'Fjord Light (1042)' }).waitFor();
    await page.getByLabel('Purchase code').fill(code);
    await page.getByRole('button', { name: 'Download' }).click();
    const status = page.getByRole('status');
    // The code just typed is not lost: there is a link, and no redirect.
    await status.getByRole('link', { name: 'Log in' }).waitFor();
    await page.locator('#who').getByRole('link', { name: 'Log in' }).click();
    await logIn(page);
    await page.getByText('Mira Solheim').waitFor();
    await page.getByLabel('Purchase code').fill(` ${code}\u200b`);
    await page.getByRole('button', { name: 'Download' }).click();
    await status.filter({ hasText: /item-1042-.*licence: Regular/ }).waitFor();
    await page.getByLabel('Item number').fill('1046');
    await page.getByRole('button', { name: 'Download' }).click();
    await status.filter({ hasText: /another item|not for this|other/i }).waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.locator('#who').getByRole('link', { name: 'Log in' }).waitFor();
    await page.getByRole('listitem').first().waitFor();
    expect(await faultsInBothLooks(page)).toEqual([]);
  });

  it.skipIf(redisIsMissing())(
    'fleet: its pages log in, show the workers, and log out',
    async () => {
      const { sandbox, service, keyApi, loginApi } = await openMarketplace();
      const redis = await anyRedis();
      onTestFinished(() => redis.stop());
      const client = await connectRedis(redis.url);
      onTestFinished(() => client.destroy());
      const upstream = { 'POST /api/purchases/validation': 1, 'GET /api/items/all': 20 };
      const workers = [1, 2].map((worker) => ({
        worker,
        pid: 4000 + worker,
        answered: 7,
        upstream,
      }));
      const config = {
        ...{ service, redisUrl: redis.url, sessionSecret: SECRET, tokenKeys: [] },
        ...{ production: false, host: '127.0.0.1', port: 0 },
      };
      const askTally = async () => workers;
      const app = createFleet(config, { keyApi, loginApi, client, askTally });
      const origin = named(await listen(app));
      sandbox.redirectUrl = `${origin}/callback`;

      const page = await visit(origin);
      await page.getByRole('link', { name: 'Log in with the marketplace' }).click();
      await logIn(page);
      await page.getByText('Logged in as Mira Solheim').waitFor();
      await page.getByRole('link', { name: 'What each worker has done' }).click();
      await page.getByRole('cell', { name: '4002' }).waitFor();
      expect(await faultsInBothLooks(page)).toEqual([]);
      await page.goBack();
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.getByText('does not know you').waitFor();
      expect(await faultsInBothLooks(page)).toEqual([]);
    },
  );

  it('metrics/server.ts: a login ends in its JSON', async () => {
    const running = runExample('metrics/server.ts', { PORT: '0', METRICS_PORT: '0' });
    const origin = await running.prints(/(http:\/\/(?:localhost|127\.0\.0\.1):\d+)/);
    const page = await visit(`${origin}/login`);
    await logIn(page);
    await page.waitForURL(`${origin}/items`);
    expect(await page.textContent('body')).toContain('"id":1042');
  });
});

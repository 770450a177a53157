import { describe, expect } from 'vitest';
import { ask, it, type Running, start } from './support.js';

/** Sends a form of the page, as a browser does without the page's script. */
const post = (running: Running, name: string, form: Record<string, string>, headers = {}) =>
  running.send(`/sandbox/api/${name}`, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers: { accept: 'text/html,*/*;q=0.8', ...headers },
  });
const page = async (running: Running) => (await running.get('/sandbox/console')).text;

// All forms are walked through in Chromium: test/system/browser/console.
describe('the console', () => {
  it('shows keys, codes and requests, what a refusal said, and that a request was abandoned', async ({
    running,
  }) => {
    await running.get(`/api/items/all?api_key=${running.apiKey}`);
    await running.validate(running.code('extended'), 'x');
    const text = await page(running);
    for (const shown of [
      ...[running.apiKey, running.appId, running.appSecret, running.code('refunded')],
      ...[`MARKETPLACE_API_KEY=${running.apiKey}`, '<code>GET /api/items/all</code>'],
      '<small>“Invalid purchase code”, purchase_code …60b2</small>',
    ]) {
      expect(text).toContain(shown);
    }
    running.sandbox.faults.hang = true;
    const signal = AbortSignal.timeout(40);
    await expect(running.send('/api/items/all', { signal })).rejects.toThrow();
    await expect.poll(() => page(running)).toContain('>no answer<');
  });

  it('begins with purchases of the item that the address names', async ({ running }) => {
    const { text } = await running.get('/sandbox/console?item=1049');
    expect(text).toContain('<option value="1049" selected>');
    const [, first] = /<tr id="purchase-\d+"><td><code>([^<]+)/.exec(text) ?? [];
    expect(first).toBe(running.code('video-item'));
    expect((await running.get('/sandbox/console?item=%3Cb%3E')).text).not.toContain('<b>:');
  });

  it('goes back to the page after a form, so that it needs no script', async ({ running }) => {
    const added = await post(running, 'add-purchase', { item_id: '1042', support: 'none' });
    expect([added.status, added.headers.get('location')]).toEqual([
      ...[303, '/sandbox/console#purchase-12'],
    ]);
    expect(running.sandbox.data.purchases.at(-1)).toMatchObject({ kind: 'added', item_id: 1042 });
    await post(running, 'set-redirect', { app_id: running.appId, redirect_url: ' ' });
    expect(running.sandbox.redirectUrl).toBeUndefined();
  });

  it('says below a code what it is now, whatever has changed it, and when an app notices', async ({
    running,
  }) => {
    const { data } = running.sandbox;
    const purchase_code = running.code('supported');
    const note = async () => /<tr class="note">.*?<p>(.*?)<\/p>/s.exec(await page(running))?.[1];
    await post(running, 'refund', { purchase_code });
    expect(await note()).toMatch(/: Was refunded: .* notices from the second visit/);
    data.unrefundPurchase(purchase_code);
    expect(await note()).toMatch(/: Valid, with support until .* notices from the second visit/);
    data.setSupportedUntil(purchase_code, null);
    expect(await note()).toMatch(/: Valid, without support\. /);
  });

  it('says what is wrong with a form, as a page and to its script', async ({ running }) => {
    const said = expect.stringContaining('item_id: there is none with this value');
    const wrong = { item_id: '1' };
    const asPage = await post(running, 'add-purchase', wrong);
    expect([asPage.status, asPage.text]).toEqual([400, said]);
    const asJson = await post(running, 'add-purchase', wrong, { accept: 'application/json' });
    expect([asJson.status, asJson.body.message]).toEqual([400, said]);
  });
});

const rotate = ({ baseUrl }: Running, headers: Record<string, string>) =>
  ask(`${baseUrl}/sandbox/api/rotate-key`, headers, { workspace: 'northlight' });

const CROSS = { 'sec-fetch-site': 'cross-site' };
const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

/** Names that a website can point at this machine; a hostile network resolves those without a dot. */
const HOSTS = ['evil.example:4000', '127.0.0.1.evil.example', 'localhost.evil.x', 'sandbox:4000'];

it('another website neither drives nor reads the console', async ({ running }) => {
  for (const headers of [
    CROSS,
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { ...CROSS, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
    { ...NAVIGATION, 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'iframe' },
    ...HOSTS.map((host) => ({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })),
  ] as Record<string, string>[]) {
    for (const answer of [
      await rotate(running, headers),
      await ask(`${running.baseUrl}/sandbox/console`, headers),
      await ask(`${running.baseUrl}/sandbox/api/export`, headers),
    ]) {
      expect([headers, answer.status]).toEqual([headers, 403]);
      expect(answer.text).not.toContain(running.apiKey);
      expect(answer.headers).toMatchObject({ 'cross-origin-resource-policy': 'same-origin' });
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    }
  }
  expect(running.sandbox.data.workspaces[0]?.api_key).toBe(running.apiKey);
});

it('its developer can use the console, under localhost, addresses and the names it was given', async () => {
  const running = await start({ consoleHosts: ['Sandbox.Example.test'] });
  for (const headers of [
    {},
    { 'sec-fetch-site': 'same-origin' },
    { host: 'localhost:4000', origin: 'http://localhost:4000' },
    { host: 'app.localhost:4000' },
    { host: '192.168.1.5:4000', origin: 'http://192.168.1.5:4000' },
    { host: 'sandbox.example.test:8443' },
  ] as Record<string, string>[]) {
    expect([headers, (await rotate(running, headers)).status]).toEqual([headers, 200]);
  }
});

it('a link from anywhere leads to the console, but sends no form', async ({ running }) => {
  const headers = { ...CROSS, ...NAVIGATION };
  expect((await ask(`${running.baseUrl}/sandbox/console`, headers)).status).toBe(200);
  expect((await rotate(running, headers)).status).toBe(403);
});

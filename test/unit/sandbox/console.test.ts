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

const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

describe('the console', () => {
  it('is what the address of the sandbox opens', async ({ running }) => {
    const { status, headers } = await running.get('/');
    expect([status, headers.get('location')]).toEqual([302, '/sandbox/console']);
  });

  it('shows keys, codes and requests, but not its own requests', async ({ running }) => {
    await running.get(`/api/items/all?api_key=${running.apiKey}`);
    const text = await page(running);
    for (const shown of [
      ...[running.apiKey, running.appId, running.appSecret, running.code('refunded')],
      `MARKETPLACE_API_KEY=${running.apiKey}`,
    ]) {
      expect(text).toContain(shown);
    }
    expect(text).toContain('<code>GET /api/items/all</code>');
    expect(await page(running)).not.toContain('/sandbox/console</code>');
    expect(running.sandbox.requests).toHaveLength(1);
  });

  it('begins with a code that is valid; added purchases come before the others', async ({
    running,
  }) => {
    const firstCopied = async () => /data-copy="([^"]+)"/.exec(await page(running))?.[1];
    expect(await firstCopied()).toBe(running.code('supported'));
    running.sandbox.data.refundPurchase(running.code('supported'));
    expect(await firstCopied()).toBe(running.code('extended'));
    const added = [1042, 1049].map((item_id) => running.sandbox.data.addPurchase({ item_id }));
    const listed = [
      ...(await page(running)).matchAll(/<tr id="purchase-\d+"><td><code>([^<]+)/g),
    ].map(([, c]) => c);
    const [first, second] = added.map(({ purchase_code }) => purchase_code);
    expect(listed.slice(0, 3)).toEqual([second, first, running.code('supported')]);
  });

  it('shows of a failed request what was sent and what was answered, and of an abandoned one that it has ended', async ({
    running,
  }) => {
    await running.post('/api/purchases/validation', {
      api_key: 'x',
      purchase_code: running.code('extended'),
    });
    expect(await page(running)).toContain(
      '<small>“Invalid purchase code”, purchase_code …60b2</small>',
    );
    running.sandbox.faults.hang = true;
    const signal = AbortSignal.timeout(40);
    await expect(running.send('/api/items/all', { signal })).rejects.toThrow();
    await expect.poll(() => page(running)).toContain('>no answer<');
  });

  // All forms are walked through in Chromium: test/system/browser/console.
  it('goes back to the page after a form, so that it needs no script', async () => {
    const running = await start({ clock: () => 0 });
    const added = await post(running, 'add-purchase', { item_id: '1042', support: 'none' });
    expect([added.status, added.headers.get('location')]).toEqual([
      ...[303, '/sandbox/console#purchase-12'],
    ]);
    expect(running.sandbox.data.purchases.at(-1)).toMatchObject({ kind: 'added', item_id: 1042 });
    await post(running, 'clock', { advance: '1h' });
    expect(running.sandbox.clock()).toBe(3_600_000);
    await post(running, 'clock', { reset: 'true' });
    expect(running.sandbox.clock()).toBe(0);
    await post(running, 'set-redirect', { app_id: running.appId, redirect_url: ' ' });
    expect(running.sandbox.redirectUrl).toBeUndefined();
  });

  it('shows where the switches stand, also those of one endpoint, and resets a group', async () => {
    const running = await start({ dialect: { localised: 'de' } });
    const { faults, dialect } = running.sandbox;
    Object.assign(faults, { latency: 12.5, html: true, rateLimit: 7 });
    faults.at('/api/items/all').hang = true;
    const text = unescaped(await page(running));
    expect(text).toContain('name="faults.latency" value="12.5"');
    expect(text).toMatch(
      /name="faults.html"><option value="false">off<\/option><option value="true" selected>/,
    );
    expect(text).toContain('name="faults.rateLimit" value="7"');
    expect(text).toContain('value="de" selected');
    expect(text).toContain('hang@/api/items/all=true');
    faults.latency = [100, 400];
    expect(await page(running)).toContain('name="faults.latency" value="[100,400]"');
    await post(running, 'reset', { names: 'faults' });
    expect(faults).toMatchObject({ latency: 0, html: false, rateLimit: false });
    expect([faults.at('/api/items/all').hang, dialect.localised]).toEqual([false, 'de']);
  });

  it('names the item of the address, and begins with its purchases', async ({ running }) => {
    const { text } = await running.get('/sandbox/console?item=1049');
    expect(text).toContain('<b>Slow Water</b>: sell it here, or renew');
    expect(text).toContain('<option value="1049" selected>');
    expect(/<tr id="purchase-\d+"><td><code>([^<]+)/.exec(text)?.[1]).toBe(
      running.code('video-item'),
    );
    expect((await running.get('/sandbox/console?item=%3Cb%3E')).text).not.toContain('<b>:');
  });

  it('says what is wrong with a form, as a page and to its script', async ({ running }) => {
    const said = expect.stringContaining('item_id: there is none with this value');
    const wrong = { item_id: '1' };
    const asPage = await post(running, 'add-purchase', wrong);
    expect([asPage.status, asPage.text]).toEqual([400, said]);
    const asJson = await post(running, 'add-purchase', wrong, { accept: 'application/json' });
    expect([asJson.status, asJson.body.message]).toEqual([400, said]);
    expect((await post(running, 'nothing', {})).status).toBe(404);
  });
});

const rotate = ({ baseUrl }: Running, headers: Record<string, string>) =>
  ask(`${baseUrl}/sandbox/api/rotate-key`, headers, { workspace: 'northlight' });

const keyOf = (running: Running) => running.sandbox.data.workspaces[0]?.api_key;

const CROSS = { 'sec-fetch-site': 'cross-site' };
const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

/** Names that a website can point at this machine; a hostile network resolves those without a dot. */
const HOSTS = ['evil.example:4000', '127.0.0.1.evil.example', 'localhost.evil.x', 'sandbox:4000'];

it.each<Record<string, string>>([
  CROSS,
  { 'sec-fetch-site': 'same-site' },
  { origin: 'https://evil.example' },
  { ...CROSS, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' },
  { ...NAVIGATION, 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'iframe' },
  ...HOSTS.map((host) => ({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })),
])('another website neither drives nor reads the console: %j', async (headers) => {
  const running = await start();
  expect((await rotate(running, headers)).status).toBe(403);
  expect(keyOf(running)).toBe(running.apiKey);
  for (const path of ['console', 'console/script.js', 'api', 'api/export']) {
    const answer = await ask(`${running.baseUrl}/sandbox/${path}`, headers);
    expect(answer.status).toBe(403);
    expect(answer.text).not.toContain(running.apiKey);
    expect(answer.headers).toMatchObject({ 'cross-origin-resource-policy': 'same-origin' });
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  }
});

it.each<Record<string, string>>([
  {},
  { 'sec-fetch-site': 'same-origin' },
  { host: 'localhost:4000', origin: 'http://localhost:4000' },
  { host: 'app.localhost:4000' },
  { host: '192.168.1.5:4000', origin: 'http://192.168.1.5:4000' },
  { host: 'sandbox.example.test:8443' },
])('its developer can use the console: %j', async (headers) => {
  const running = await start({ consoleHosts: ['Sandbox.Example.test'] });
  expect((await rotate(running, headers)).status).toBe(200);
  expect(keyOf(running)).not.toBe(running.apiKey);
});

it('a link from anywhere leads to the console, but sends no form', async ({ running }) => {
  const headers = { ...CROSS, ...NAVIGATION };
  expect((await ask(`${running.baseUrl}/sandbox/console`, headers)).status).toBe(200);
  expect((await rotate(running, headers)).status).toBe(403);
});

it('the service answers under any name, for it has no cookies to abuse', async ({ running }) => {
  const url = `${running.baseUrl}/api/account/details?api_key=${running.apiKey}`;
  expect((await ask(url, { host: 'market.example' })).status).toBe(200);
});

import { describe, expect } from 'vitest';
import { it, newToken, type Running, start } from './support.js';

const post = (running: Running, name: string, form: Record<string, string>, headers = {}) =>
  running.send(`/sandbox/console/${name}`, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers,
  });
const page = async (running: Running) => (await running.get('/sandbox/console')).text;

const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

describe('the console', () => {
  it('shows keys, codes, users, tokens and requests, but not its own requests', async ({
    running,
  }) => {
    await running.get(`/api/items/all?api_key=${running.apiKey}`);
    const text = await page(running);
    for (const shown of [
      ...[running.apiKey, running.appId, running.appSecret, running.code('refunded')],
      ...['mira@solheim.example', `MARKETPLACE_API_KEY=${running.apiKey}`],
    ]) {
      expect(text).toContain(shown);
    }
    expect(text).toMatch(/GET<\/b> \/api\/items\/all/);
    expect(text).toMatch(/<b>api_key<\/b> \[redacted\]/);
    expect(await page(running)).not.toContain('/sandbox/console</code>');
    expect(running.sandbox.requests).toHaveLength(1);
    expect(await page(running)).toContain('None is alive');
    const token = await newToken(running);
    expect(await page(running)).toContain(token);
  });

  it('begins with a code that is valid; added purchases come before the others', async ({
    running,
  }) => {
    const firstCopied = async () => /data-copy="([^"]+)"/.exec(await page(running))?.[1];
    expect(await firstCopied()).toBe(running.code('supported'));
    running.sandbox.data.refundPurchase(running.code('supported'));
    expect(await firstCopied()).toBe(running.code('extended'));
    const added = [1042, 1049].map((item_id) => running.sandbox.data.addPurchase({ item_id }));
    const listed = [...(await page(running)).matchAll(/<tr><td><code>([^<]+)/g)].map(([, c]) => c);
    const [first, second] = added.map(({ purchase_code }) => purchase_code);
    expect(listed.slice(0, 3)).toEqual([second, first, running.code('supported')]);
  });

  it('shows of a failed request what was sent and what was answered, and of an abandoned one that it has ended', async ({
    running,
  }) => {
    await running.postJson('/api/authorize', { app_id: running.appId });
    expect(unescaped(await page(running))).toMatch(
      /not read: \d+ bytes, application\/json<\/span> <br>“Bad Request, invalid app_id”/,
    );
    running.sandbox.faults.hang = true;
    const signal = AbortSignal.timeout(40);
    await expect(running.send('/api/items/all', { signal })).rejects.toThrow();
    await expect.poll(() => page(running)).toContain('>no answer<');
    expect(running.sandbox.requests.at(-1)).toMatchObject({ status: 0, isOpen: false });
  });

  it('has a form for each action on a purchase, and goes back to the page after it', async () => {
    const running = await start({ clock: () => 0 });
    const { data } = running.sandbox;
    const added = await post(running, 'add-purchase', { item_id: '1042', support: 'none' });
    expect([added.status, added.headers.get('location')]).toEqual([303, '/sandbox/console']);
    const code = String(data.purchases.at(-1)?.purchase_code);
    const badge = async () =>
      new RegExp(`<code>${code}</code><br><span class="badge[^"]*">([^<]*)<`).exec(
        await page(running),
      )?.[1];
    const actions = async () =>
      [...(await page(running)).matchAll(/console\/([\w-]+)"><button[^>]+value="([^"]+)"/g)]
        .filter(([, , value]) => value === code)
        .map(([, name]) => name);
    expect(await actions()).toEqual(['renew', 'refund']);
    for (const [name, next, shown] of [
      ['renew', ['renew', 'end-support', 'refund'], 'added'],
      ['end-support', ['renew', 'refund'], 'added'],
      ['refund', ['unrefund'], 'refunded'],
      ['unrefund', ['renew', 'refund'], 'added'],
    ] as const) {
      await post(running, name, { purchase_code: code });
      expect([await actions(), await badge()]).toEqual([next, shown]);
    }
    await post(running, 'set-redirect', { app_id: running.appId, redirect_url: ' ' });
    expect(running.sandbox.redirectUrl).toBeUndefined();
    await post(running, 'clock', { advance: '3600000' });
    expect(running.sandbox.clock()).toBe(3_600_000);
    await post(running, 'clock', { reset: 'true' });
    expect(running.sandbox.clock()).toBe(0);
  });

  it('shows where the switches stand, also what no form sets, and resets a group', async () => {
    const running = await start({ dialect: { localised: 'de' } });
    const { faults, dialect } = running.sandbox;
    const before = { ...faults };
    const redirect = 'https://other.example/"x"';
    Object.assign(faults, { latency: 12.5, bom: true, gzipBomb: 5000, redirect });
    faults.at('/api/items/all').hang = true;
    const text = unescaped(await page(running));
    expect(text).toContain('id="faults.latency" name="faults.latency" data-switch value="12.5"');
    expect(text).toContain('name="faults.bom" data-switch checked');
    expect(text).toContain('name="faults.gzipBomb" data-switch checked');
    expect(text).toContain('value=""https://other.example/\\"x\\""" selected');
    expect(text).toContain('value=""de"" selected');
    expect(text).toContain('faults.hang@/api/items/all=true');
    // No JSON where a reader chooses.
    expect(text).not.toMatch(/>\{"/);
    faults.latency = [100, 400];
    expect(await page(running)).toContain('data-switch value="[100,400]"');
    await post(running, 'reset', { names: 'faults' });
    expect([{ ...faults }, dialect.localised]).toEqual([before, 'de']);
    expect(faults.at('/api/items/all').hang).toBe(false);
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

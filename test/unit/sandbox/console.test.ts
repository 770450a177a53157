import { describe, expect, it } from 'vitest';
import { newToken, type Running, start, userInfo } from './support.js';

const post = (running: Running, name: string, form: Record<string, string>, headers = {}) =>
  fetch(`${running.baseUrl}/sandbox/console/${name}`, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers,
    redirect: 'manual',
  });

const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

/** What a browser would send of a form of switches that nobody touched. */
function fieldsOf(page: string, board: string): Record<string, string> {
  const form = new RegExp(`<form[^>]* data-board="${board}">[\\s\\S]*?</form>`).exec(page)?.[0];
  const fields: Record<string, string> = {};
  for (const [, name = '', options = ''] of (form ?? '').matchAll(
    /<select [^>]*name="(\w+)"[^>]*>([\s\S]*?)<\/select>/g,
  )) {
    fields[name] = unescaped(/value="([^"]*)" selected/.exec(options)?.[1] ?? '');
  }
  for (const [input] of (form ?? '').matchAll(/<input [^>]*>/g)) {
    const name = / name="(\w+)"/.exec(input)?.[1] ?? '';
    if (!input.includes('type="checkbox"')) fields[name] = / value="(.*?)"/.exec(input)?.[1] ?? '';
    else if (input.includes(' checked')) fields[name] = 'on';
  }
  return fields;
}

describe('the console', () => {
  it('shows keys, codes, users and requests, but not its own requests', async () => {
    const running = await start();
    await running.get(`/api/items/all?api_key=${running.apiKey}`);
    const { text } = await running.get('/sandbox/console');
    for (const shown of [
      running.apiKey,
      running.appId,
      running.appSecret,
      running.code('refunded'),
      'mira@solheim.example',
      `MARKETPLACE_API_KEY=${running.apiKey}`,
    ]) {
      expect(text).toContain(shown);
    }
    expect(text).toMatch(/GET<\/b> \/api\/items\/all/);
    expect(text).toMatch(/<b>api_key<\/b> \[redacted\]/);
    await running.get('/Sandbox/Console/script.js');
    expect(running.sandbox.requests).toHaveLength(1);
  });

  it('adds and refunds purchases, makes keys, registers a redirect URL', async () => {
    const running = await start({ clock: () => 0 });
    const { sandbox } = running;
    const added = await post(running, 'purchases', { item_id: '1042', support: 'none' });
    expect(added.status).toBe(303);
    expect(added.headers.get('location')).toBe('/sandbox/console#purchases');
    const purchase = sandbox.data.purchases.at(-1);
    expect(purchase).not.toHaveProperty('supported_until');
    await post(running, 'refund', { purchase_code: String(purchase?.purchase_code) });
    expect(purchase?.void).toBe('refunded');
    await post(running, 'rotate', { workspace: 'northlight' });
    expect(sandbox.data.workspaces[0]?.api_key).toMatch(/^(?!7d1f0c9a)[0-9a-f]{64}$/);
    await post(running, 'redirect-url', { app_id: running.appId, redirect_url: ' ' });
    expect(sandbox.redirectUrl).toBeUndefined();
    await running.get('/');
    await post(running, 'clear', {});
    expect(sandbox.requests).toHaveLength(0);
  });

  it('ends support, revokes a key and a token', async () => {
    const running = await start();
    const code = running.code('supported');
    await post(running, 'expire', { purchase_code: code });
    // The service leaves `supported_until` out once it has ended.
    const { body } = await running.validate(code);
    expect(body).toMatchObject({ status: 'success' });
    expect(JSON.stringify(body)).not.toContain('supported_until');

    const token = await newToken(running);
    expect((await running.get('/sandbox/console')).text).toContain(token);
    await post(running, 'token', { access_token: token });
    expect((await userInfo(running, token)).body).toMatchObject({ error: true });
    expect((await running.get('/sandbox/console')).text).not.toContain(token);

    await post(running, 'revoke', { workspace: 'northlight' });
    expect((await running.get(`/api/account/details?api_key=${running.apiKey}`)).status).toBe(401);
    expect((await running.get('/sandbox/console')).text).toContain('revoked');
  });

  it('moves the clock, sets it, and sets it right', async () => {
    const running = await start({ clock: () => 0 });
    const { clock } = running.sandbox;
    await post(running, 'clock', { advance: '3600000' });
    expect(clock()).toBe(3_600_000);
    await post(running, 'clock', { set: '2030-01-02T03:04' });
    expect(clock()).toBe(Date.UTC(2030, 0, 2, 3, 4));
    await post(running, 'clock', { reset: '1' });
    expect(clock()).toBe(0);
    expect((await post(running, 'clock', { set: 'soon' })).status).toBe(400);
    expect((await post(running, 'clock', { advance: 'x' })).status).toBe(400);
    expect(clock()).toBe(0);
  });

  it('flips faults and dialect, and resets', async () => {
    const running = await start();
    const { faults, dialect } = running.sandbox;
    const before = [{ ...faults }, { ...dialect }];
    // The fault called "reset" is a switch like the others, not a reset of all of them.
    const rateLimit = '{"form":"http-date"}';
    await post(running, 'faults', { latency: '20', rateLimit, reset: 'on', only: '"key-api"' });
    expect({ ...faults }).toMatchObject({ latency: 20, rateLimit: { form: 'http-date' } });
    expect({ ...faults }).toMatchObject({ reset: true, html: false, only: 'key-api' });
    await post(running, 'dialect', { errors: '"http"', localised: 'true', tokenMinutes: '1' });
    const { errors, localised, tokenMinutes, trimming } = dialect;
    expect([errors, localised, tokenMinutes, trimming]).toEqual(['http', true, 1, false]);
    await post(running, 'faults/reset', {});
    await post(running, 'dialect/reset', {});
    expect([{ ...faults }, { ...dialect }]).toEqual(before);
  });

  it('the forms it shows change nothing when they are sent back untouched', async () => {
    const running = await start({ dialect: { localised: 'de', tokenMinutes: 5, rateLimit: 17 } });
    const { faults, dialect } = running.sandbox;
    // What a program set beyond the choices of the form stays, too.
    Object.assign(faults, {
      rateLimit: { retryAfter: 7, form: 'http-date' },
      redirect: 'https://other.example/"x"',
      only: '/api/other',
      latency: 12.5,
    });
    const before = [{ ...faults }, { ...dialect }];
    const { text } = await running.get('/sandbox/console');
    for (const board of ['faults', 'dialect']) {
      const fields = fieldsOf(text, board);
      expect(Object.keys(fields).length).toBeGreaterThan(5);
      expect((await post(running, board, fields)).status).toBe(303);
    }
    expect([{ ...faults }, { ...dialect }]).toEqual(before);
  });

  it.each([
    ['faults', { errorRate: '7' }, 'faults.errorRate: expected a number from 0 to 1'],
    ['faults', { latency: 'soon' }, 'faults.latency: expected a number of milliseconds'],
    ['dialect', { crash: 'html' }, 'crash: expected false, true, &quot;html&quot;'],
    ['refund', { purchase_code: 'x' }, 'purchase_code: there is no such purchase'],
    ['purchases', { item_id: '1' }, 'item_id: there is no such item'],
    ['rotate', { workspace: 'x' }, 'workspace: there is no such workspace'],
  ])('%s %j: says what is wrong, as a page and to its script', async (name, form, sentence) => {
    const running = await start();
    const before = { ...running.sandbox.faults };
    const page = await post(running, name, form);
    expect(page.status).toBe(400);
    expect(await page.text()).toContain(sentence);
    const asJson = await post(running, name, form, { accept: 'application/json' });
    expect(asJson.status).toBe(400);
    expect(((await asJson.json()) as { message: string }).message).toContain(unescaped(sentence));
    expect({ ...running.sandbox.faults }).toEqual(before);
  });
});

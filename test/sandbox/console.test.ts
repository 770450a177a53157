import { describe, expect, it } from 'vitest';
import { type Running, start } from './support.js';

describe('the console', () => {
  const post = (running: Running, name: string, form: Record<string, string>, headers = {}) =>
    fetch(`${running.baseUrl}/sandbox/console/${name}`, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers,
      redirect: 'manual',
    });

  it('shows keys, codes and requests, but not its own requests', async () => {
    const running = await start();
    await running.get(`/api/items/all?api_key=${running.apiKey}`);
    const { text } = await running.get('/sandbox/console');
    for (const key of [
      running.apiKey,
      running.appId,
      running.appSecret,
      running.code('refunded'),
    ]) {
      expect(text).toContain(key);
    }
    expect(text).toContain('GET /api/items/all');
    expect((await running.get('/sandbox/console/requests')).text).toContain('api_key=[redacted]');
    expect(running.sandbox.requests).toHaveLength(1);
  });

  it('adds and refunds purchases, makes keys, moves the clock, registers a redirect URL', async () => {
    const running = await start({ clock: () => 0 });
    const { sandbox } = running;
    expect((await post(running, 'purchases', { item_id: '1042', support: 'none' })).status).toBe(
      303,
    );
    const added = sandbox.data.purchases.at(-1);
    expect(added).not.toHaveProperty('supported_until');
    await post(running, 'refund', { purchase_code: String(added?.purchase_code) });
    expect(added?.void).toBe('refunded');
    await post(running, 'rotate', { workspace: 'northlight' });
    expect(sandbox.data.workspaces[0]?.api_key).not.toBe(running.apiKey);
    await post(running, 'clock', { advance: '3600000' });
    expect(sandbox.clock()).toBe(3_600_000);
    await post(running, 'redirect-url', { app_id: running.appId, redirect_url: ' ' });
    expect(sandbox.redirectUrl).toBeUndefined();
    await running.get('/');
    await post(running, 'clear', {});
    expect(sandbox.requests).toHaveLength(0);
  });

  it('flips faults and dialect, keeps what a program set beyond "on", and resets', async () => {
    const running = await start();
    const { faults, dialect } = running.sandbox;
    faults.rateLimit = { retryAfter: 5 };
    await post(running, 'faults', { latency: '20', rateLimit: 'on', bom: 'on', only: 'key-api' });
    expect({ ...faults }).toMatchObject({
      latency: 20,
      rateLimit: { retryAfter: 5 },
      bom: true,
      html: false,
      only: 'key-api',
    });
    await post(running, 'faults', { reset: '1' });
    expect({ ...faults }).toMatchObject({ latency: 0, rateLimit: false, bom: false });
    await post(running, 'dialect', {
      errors: '"http"',
      localised: 'true',
      tokenMinutes: '1',
      nulls: 'on',
    });
    expect({ ...dialect }).toMatchObject({
      errors: 'http',
      localised: true,
      tokenMinutes: 1,
      nulls: true,
      trimming: false,
    });
    await post(running, 'dialect', { reset: '1' });
    expect({ ...dialect }).toMatchObject({ errors: 'ok', localised: false, trimming: true });
  });

  it('the form it shows changes nothing when it is sent back untouched', async () => {
    const running = await start({ dialect: { localised: 'de', tokenMinutes: 5 } });
    const { text } = await running.get('/sandbox/console');
    const form =
      /<form method="post" action="\/sandbox\/console\/dialect"[\s\S]*?<\/form>/.exec(text)?.[0] ??
      '';
    const fields: Record<string, string> = {};
    for (const [, name = '', options = ''] of form.matchAll(
      /<select name="(\w+)">([\s\S]*?)<\/select>/g,
    )) {
      const value = /value="([^"]*)" selected/.exec(options)?.[1] ?? '';
      fields[name] = value.replaceAll('&quot;', '"');
    }
    for (const [, name = ''] of form.matchAll(/type="checkbox" name="(\w+)" checked/g))
      fields[name] = 'on';
    for (const [, name = '', value = ''] of form.matchAll(
      /<input name="(\w+)"[^>]* value="([^"]*)"/g,
    ))
      fields[name] = value;
    expect(Object.keys(fields).length).toBeGreaterThan(5);
    const before = { ...running.sandbox.dialect };
    await post(running, 'dialect', fields);
    expect({ ...running.sandbox.dialect }).toEqual(before);
  });

  it('says what is wrong with a value', async () => {
    const running = await start();
    const response = await post(running, 'faults', { errorRate: '7' });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('faults.errorRate: expected a number from 0 to 1');
  });

  it.each([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
  ])('refuses a form of another site: %j', async (headers) => {
    const running = await start();
    const response = await post(running, 'rotate', { workspace: 'northlight' }, headers);
    expect(response.status).toBe(403);
    expect(running.sandbox.data.workspaces[0]?.api_key).toBe(running.apiKey);
  });
});

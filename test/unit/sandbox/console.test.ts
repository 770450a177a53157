import { describe, expect } from 'vitest';
import { it, newToken, type Running, start, userInfo } from './support.js';

const post = (running: Running, name: string, form: Record<string, string>, headers = {}) =>
  running.send(`/sandbox/console/${name}`, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers,
  });

const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

describe('the console', () => {
  it('shows keys, codes, users and requests, but not its own requests', async ({ running }) => {
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
    expect(added.headers.get('location')).toBe('/sandbox/console');
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

  it.each([
    ['supported', 'refund', 'refunded'],
    ['extended', 'refund', 'refunded'],
    ['other-workspace', 'refund', 'refunded'],
    ['supported', 'expire', 'support-over'],
    ['extended', 'expire', 'extended'],
  ])(
    'the badge of a purchase says what it is now: %s, after %s: %s',
    async (kind, action, badge) => {
      const running = await start();
      const code = running.code(kind);
      const badgeOf = async () => {
        const { text } = await running.get('/sandbox/console');
        return new RegExp(`<code>${code}</code><br><span class="badge[^"]*">([^<]*)<`).exec(
          text,
        )?.[1];
      };
      expect(await badgeOf()).toBe(kind);
      await post(running, action, { purchase_code: code });
      expect(await badgeOf()).toBe(badge);
    },
  );

  it('ends support, revokes a key and a token', async ({ running }) => {
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

  it('moves the clock, and sets it right', async () => {
    const running = await start({ clock: () => 0 });
    const { clock } = running.sandbox;
    await post(running, 'clock', { advance: '3600000' });
    expect(clock()).toBe(3_600_000);
    expect((await post(running, 'clock', { advance: 'x' })).status).toBe(400);
    await post(running, 'clock', { reset: '1' });
    expect(clock()).toBe(0);
  });

  it('shows where the switches stand, also what no form offers, and resets a group', async () => {
    const running = await start({ dialect: { localised: 'de' } });
    const { faults, dialect } = running.sandbox;
    const before = { ...faults };
    const redirect = 'https://other.example/"x"';
    Object.assign(faults, { latency: 12.5, bom: true, gzipBomb: 5000, redirect });
    const { text } = await running.get('/sandbox/console');
    expect(text).toContain('id="faults.latency" name="faults.latency" data-switch value="12.5"');
    expect(text).toContain('name="faults.bom" data-switch checked');
    expect(text).toContain('name="faults.gzipBomb" data-switch checked');
    expect(unescaped(text)).toContain('value=""https://other.example/\\"x\\""" selected');
    expect(unescaped(text)).toContain('value=""de"" selected');
    await post(running, 'reset', { group: 'faults' });
    expect([{ ...faults }, dialect.localised]).toEqual([before, 'de']);
  });

  const NO_DATE = 'clock.advance: expected milliseconds within the range of dates';
  it.each([
    ['clock', { advance: 'soon' }, NO_DATE],
    ['clock', { advance: '1e300' }, NO_DATE],
    ['refund', { purchase_code: 'x' }, 'purchase_code: there is none with this value'],
    ['purchases', { item_id: '1' }, 'item_id: there is none with this value'],
    ['rotate', { workspace: 'x' }, 'workspace: there is none with this value'],
  ])('%s %j: says what is wrong, as a page and to its script', async (name, form, sentence) => {
    const running = await start();
    const said = expect.stringContaining(sentence);
    const page = await post(running, name, form);
    expect([page.status, page.text]).toEqual([400, said]);
    const asJson = await post(running, name, form, { accept: 'application/json' });
    expect([asJson.status, asJson.body.message]).toEqual([400, said]);
  });
});

describe('the switches of the console as JSON', () => {
  const patch = (running: Running, body: string, type = 'application/json') =>
    running.send('/sandbox/console/switches', {
      method: 'PATCH',
      headers: { 'content-type': type, accept: 'application/json' },
      body,
    });

  it('gives the value of each', async () => {
    const running = await start({ dialect: { nulls: true } });
    const { body } = await running.get('/sandbox/console/switches');
    const { sandbox } = running;
    expect(Object.keys(body)).toEqual([
      ...Object.keys(sandbox.faults).map((name) => `faults.${name}`),
      ...Object.keys(sandbox.dialect).map((name) => `dialect.${name}`),
    ]);
    expect(body).toMatchObject({ 'faults.only': null, 'dialect.nulls': true });
  });

  it('sets some and puts others back, and leaves the rest alone', async () => {
    const running = await start({ dialect: { nulls: true, microseconds: true } });
    const changes = { errorRate: 0.5, 'dialect.nulls': null, 'dialect.errors': 'http' };
    expect((await patch(running, JSON.stringify(changes))).status).toBe(200);
    expect(running.sandbox.faults.errorRate).toBe(0.5);
    const { dialect } = running.sandbox;
    expect({ ...dialect }).toMatchObject({ nulls: false, errors: 'http', microseconds: true });
  });

  it.each([
    ['{"bom":true,"latancy":5}', 'latancy: there is no such switch; "marketgate sandbox switches"'],
    ['{"bom":true,"faults.latancy":5}', 'faults.latancy: there is no such switch'],
    ['{"bom":true,"errors":"no"}', 'dialect.errors: expected'],
    ['{"bom":true,"data.users":1}', 'data.users: there is no such switch'],
    ['{"bom":true,"rateLimit":5}', 'rateLimit: there are two; say faults.rateLimit or dialect.'],
    ['{"bom":true,"faults.__proto__":{"latency":1}}', '__proto__: there is no such switch'],
    ['{"bom":true,"redirect":{"status":200}}', 'faults.redirect: expected'],
    ['{"bom":true,"faults.rateLimit":{"form":"x"}}', 'faults.rateLimit: expected'],
    ['{"bom":true,"contentType":"a\\r\\nb"}', 'faults.contentType: expected'],
    ['[]', 'expected an object'],
  ])('%s sets nothing at all', async (body, sentence) => {
    const running = await start();
    const answer = await patch(running, body);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(sentence)]);
    expect(running.sandbox.faults.bom).toBe(false);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded'])(
    'a body of type %s, which any website may send, is not read',
    async (type) => {
      const running = await start();
      expect((await patch(running, '{"bom":true}', type)).status).toBe(400);
      expect(running.sandbox.faults.bom).toBe(false);
    },
  );
});

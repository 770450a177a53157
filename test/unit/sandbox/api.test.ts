import { expect } from 'vitest';
import { ACTIONS } from '../../../src/sandbox/actions.js';
import { exchange, infoBehind, it, type Json, NOW, type Running, start } from './support.js';

const DAY = 86_400_000;
const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';

/** Asks a running sandbox for an action, as another process does. */
const act = (running: Running, name: string, fields: object = {}) =>
  running.postJson(`/sandbox/api/${name}`, fields);
const done = async (running: Running, name: string, fields: object = {}): Promise<Json> => {
  const { status, body } = await act(running, name, fields);
  expect([name, status, body.message]).toEqual([name, 200, expect.stringMatching(/./)]);
  return body;
};

it('the API lists every action with its method, path and fields', async ({ running }) => {
  const actions = (await running.get('/sandbox/api')).body.actions as unknown as Json[];
  const paths = Object.keys(ACTIONS).map((name) => `/sandbox/api/${name}`);
  expect(actions.map(({ path }) => path)).toEqual(paths);
  const refund = { about: 'refund a purchase', fields: ['purchase_code'] };
  expect(actions).toContainEqual({ method: 'POST', path: '/sandbox/api/refund', ...refund });
});

it('renew, refund and unrefund change what validation answers, and say when an app notices', async () => {
  const running = await start({ clock: () => NOW });
  const cached = /5 minutes have passed.*65.*at once if it asks again: keyApi\.invalidate\(code\)/;
  const refused = /told no asks again after 30 seconds/;
  for (const [name, purchase_code, status, description, noticed] of [
    // 122 days were left. A code is pasted with blanks.
    ['renew', ` ${CODE}\n`, 200, /with support until 2027-11-01/, cached],
    ['renew', running.code('support-over'), 200, /support until 2027-07-02/, cached],
    ['refund', CODE, 404, /^Was refunded/, cached],
    ['unrefund', CODE, 200, /^Valid, with support/, refused],
    ['unrefund', running.code('cancelled'), 200, /^Valid, without support/, refused],
  ] as const) {
    const result = await done(running, name, { purchase_code });
    expect(result.code).toBe(purchase_code.trim());
    expect(result.description).toMatch(description);
    expect(result.message).toMatch(noticed);
    expect((await running.validate(purchase_code)).status).toBe(status);
  }
});

it('add-purchase gives a code that is valid at once, with what was given and the rest filled in', async () => {
  const running = await start({ clock: () => NOW });
  for (const [fields, expected] of [
    [{}, { supported_until: '2027-07-02T00:00:00Z', license_type: 'Regular', price: 19 }],
    [{ support: 'over' }, {}],
    [{ support: 'none' }, {}],
    [{ supported_until: '2030-01-01T00:00:00Z' }, { supported_until: '2030-01-01T00:00:00Z' }],
    [{ license_type: 'Extended' }, { price: 150 }],
    [{ purchase_code: 'my-own' }, { purchase_code: 'my-own' }],
  ] as const) {
    const { code } = await done(running, 'add-purchase', { item_id: 1046, ...fields });
    const { purchase } = (await running.validate(String(code))).body.data as Json;
    const sold = { item: { id: 1046 }, downloaded: false, date: '2027-01-01T00:00:00Z' };
    expect(purchase).toMatchObject({ purchase_code: code, ...sold, ...expected });
    expect('supported_until' in Object(purchase)).toBe(!('support' in fields));
  }
});

it('add-item, add-user, accept-login, rotate-key and set-redirect do so at once', async ({
  running,
}) => {
  const { apiKey, appId: app_id, sandbox } = running;
  const price = { regular: 5, extended: 9 };
  const { id } = await done(running, 'add-item', { name: 'Own', price });
  const ask = (key: unknown) => running.get(`/api/items/item?api_key=${key}&item_id=${id}`);
  expect((await ask(apiKey)).body.item).toMatchObject({ name: 'Own', price });
  const { api_key } = await done(running, 'rotate-key', { workspace: 'northlight' });
  expect([(await ask(api_key)).status, (await ask(apiKey)).status]).toEqual([200, 404]);
  const { user_id } = await done(running, 'add-user', { user_name: 'kim' });
  const { url } = await done(running, 'accept-login', { user_id });
  expect(await infoBehind(running, String(url))).toMatchObject({ user_id, user_name: 'kim' });
  await done(running, 'set-redirect', { app_id, redirect_url: 'http://b.example/' });
  expect(sandbox.redirectUrl).toBe('http://b.example/');
  await done(running, 'set-redirect', { app_id });
  expect(sandbox.redirectUrl).toBeUndefined();
});

it('clock moves the clock by a duration or to a time, and resets it', async () => {
  const running = await start({ clock: () => NOW });
  for (const [fields, expected] of [
    [{ advance: '1h' }, NOW + 3_600_000],
    [{ advance: '-1.5d' }, NOW + 3_600_000 - 1.5 * DAY],
    [{ set: '2028-01-01T00:00:00Z' }, Date.UTC(2028, 0, 1)],
    [{ reset: true }, NOW],
  ] as const) {
    expect(Date.parse(String((await done(running, 'clock', fields)).now))).toBe(expected);
  }
});

it('set takes values as in code or as text, puts back what is null, and leaves the rest alone', async () => {
  const running = await start({ dialect: { nulls: true, vanishedUser: true } });
  const { faults, dialect } = running.sandbox;
  const texts = { latency: '[100,1000]', 'faults.rateLimit': '60', html: 'true', localised: 'de' };
  const changes = { errorRate: 0.5, 'dialect.nulls': null, 'hang@/api/items/all': true };
  const shown = await done(running, 'set', { ...texts, ...changes });
  expect(faults).toMatchObject({ latency: [100, 1000], rateLimit: 60, errorRate: 0.5, html: true });
  expect(faults.at('/api/items/all').hang).toBe(true);
  expect(dialect).toMatchObject({ localised: 'de', nulls: false, vanishedUser: true });
  expect(shown).toMatchObject((await running.get('/sandbox/api/show')).body);
  expect(shown).toMatchObject({ 'dialect.errorStatus': null, 'faults.hang@/api/items/all': true });
  // As a command takes it again.
  expect(shown.message).toContain('On: faults.latency=[100,1000], faults.rateLimit=60,');
});

it('set sets all or nothing, and says what is wrong', async ({ running }) => {
  for (const [sentence, changes] of [
    ['nonsense: there is no such switch; "marketgate sandbox switches"', { nonsense: 5 }],
    ['dialect.errorStatus: expected "http", "ok"', { errorStatus: 'no' }],
    ['rateLimit: there are two; say faults.rateLimit or dialect.', { rateLimit: 5 }],
    ['faults.at: expected key-api, login-api, /api/', { 'hang@/items/all': true }],
    ['faults.latency@key-api: expected', { 'latency@key-api': -1 }],
  ] as const) {
    const { status, body } = await act(running, 'set', { html: true, ...changes });
    expect([status, body.message]).toEqual([400, expect.stringContaining(sentence)]);
    expect(running.sandbox.faults.html).toBe(false);
  }
  expect((await act(running, 'set', [])).body.message).toBe('expected an object of switches');
});

it('reset resets switches, faults, dialect, data, the clock and the log, each by its name', async () => {
  const running = await start({ clock: () => NOW, dialect: { nulls: true } });
  const { sandbox } = running;
  const { faults, dialect, data, clock } = sandbox;
  const { purchases } = sandbox.snapshot().seed;
  const login = sandbox.acceptLogin('3001');
  Object.assign(faults, { hang: true, html: true });
  faults.at('key-api').latency = 1;
  clock.advance(DAY);
  data.refundPurchase(CODE);
  data.setRedirectUrl(running.appId, 'http://elsewhere.example/cb');

  const reset = (...names: string[]) => done(running, 'reset', { names });
  expect((await reset('faults')).message).toBe('Reset: faults. On: dialect.nulls=true');
  expect([faults.html, faults.at('key-api').latency, dialect.nulls]).toEqual([false, 0, true]);
  await reset('clock', 'requests');
  expect([clock(), sandbox.requests]).toEqual([NOW, []]);
  const { message } = await reset('data');
  expect(message).toMatch(/^Reset: data\. .* All logins are over\. .*5 minutes have passed/);
  expect(data.purchases).toEqual(purchases);
  // Where the app is has not changed; its logins are over.
  expect(sandbox.redirectUrl).toBe('http://elsewhere.example/cb');
  expect((await exchange(running, login.slice(-32))).body.error).toBe(true);
  await done(running, 'reset');
  expect(dialect.nulls).toBe(false);
});

it('what is wrong with an action is said in JSON, which repeats no value', async ({ running }) => {
  const { purchases } = running.sandbox.snapshot().seed;
  for (const [name, fields, status, sentence] of [
    ['nothing', {}, 404, 'GET /sandbox/api lists them'],
    ['refund', { purchase_code: 'sentinel' }, 400, '"marketgate sandbox codes" lists'],
    ['accept-login', { user_id: 'sentinel' }, 400, 'user_id: there is none with this value; '],
    ['refund', { purchase_code: CODE, a: 1 }, 400, 'fields.a: there is no such field'],
    ['clock', { advance: '10' }, 400, 'fields.advance: expected a duration with its unit'],
    ['clock', { set: '2030-01-01' }, 400, 'a time, as in 2030-01-31T12:00:00Z'],
    ['clock', { advance: '9999999999d' }, 400, 'clock.advance: expected milliseconds within'],
    ['add-app', { name: 'a\nNODE_OPTIONS=x' }, 400, 'without control characters'],
    ['add-purchase', { item_id: 1042, purchase_code: CODE }, 400, 'code: given twice'],
    ['reset', { names: ['everything'] }, 400, 'expected faults, dialect, data'],
  ] as const) {
    const answer = await act(running, name, fields);
    const message = expect.stringContaining(sentence);
    expect([name, answer.status, answer.body.message]).toEqual([name, status, message]);
    expect(answer.text).not.toMatch(/sentinel|6f1c2a54/);
  }
  expect(running.sandbox.data.purchases).toEqual(purchases);
});

it('a GET that changes something, or a body of a type that any website can send, is refused', async ({
  running,
}) => {
  expect((await running.get('/sandbox/api/refund')).status).toBe(405);
  const headers = { 'content-type': 'text/plain' };
  const init = { method: 'POST', headers, body: '{"html":true}' };
  expect((await running.send('/sandbox/api/set', init)).status).toBe(415);
  expect(running.sandbox.faults.html).toBe(false);
});

it('/health answers, and neither it nor the API is among the requests', async ({ running }) => {
  expect((await running.get('/health')).body).toEqual({ status: 'ok' });
  await running.get('/Sandbox/API/codes');
  expect(running.sandbox.requests).toEqual([]);
});

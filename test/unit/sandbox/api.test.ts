import { describe, expect } from 'vitest';
import { ACTIONS } from '../../../src/sandbox/actions.js';
import {
  at,
  authKeyOf,
  exchange,
  infoBehind,
  it,
  type Json,
  NOW,
  type Running,
  start,
} from './support.js';

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
const accepts = async ({ get }: Running, key: unknown) =>
  (await get(`/api/account/details?api_key=${key}`)).status === 200;

/** When an app notices, and what makes it sooner. */
const CACHED = /5 minutes have passed.*65.*at once if it asks again: keyApi\.invalidate\(code\)/;
const REFUSED = /told no asks again after 30 seconds/;

describe('the JSON API of a running sandbox', () => {
  it('lists every action with its method, path and fields', async ({ running }) => {
    const actions = (await running.get('/sandbox/api')).body.actions as Json[];
    const paths = Object.keys(ACTIONS).map((name) => `/sandbox/api/${name}`);
    expect(actions.map(({ path }) => path)).toEqual(paths);
    const refund = { about: 'refund a purchase', fields: ['purchase_code'] };
    expect(actions).toContainEqual({ method: 'POST', path: '/sandbox/api/refund', ...refund });
  });

  it.each([
    ['refund', CODE, 404, /^Was refunded/, CACHED],
    ['unrefund', '8e4f5b03-c1d6-4e79-a260-fb37d8a0e679', 200, /^Valid, with support/, REFUSED],
    ['unrefund', '37b9d2e1-650c-4a8f-93be-4d1c76f5a780', 200, /^Valid, without support/, REFUSED],
    ['renew', '2d94f6c8-71b5-4e03-a4d7-8f0b92e6c153', 200, /support until 2027-07-02/, CACHED],
    // 122 days were left. A code is pasted with blanks.
    ['renew', ` ${CODE}\n`, 200, /with support until 2027-11-01/, CACHED],
  ])('%s %j: validation answers %i, and the message says when an app notices', async (...row) => {
    const [name, purchase_code, status, description, noticed] = row;
    const running = await start({ clock: () => NOW });
    expect(await done(running, name, { purchase_code })).toMatchObject({
      code: purchase_code.trim(),
      description: expect.stringMatching(description),
      message: expect.stringMatching(noticed),
    });
    expect((await running.validate(purchase_code)).status).toBe(status);
  });

  it.each([
    [{}, { supported_until: '2027-07-02T00:00:00Z', license_type: 'Regular', price: 19 }],
    [{ support: 'over' }, { supported_until: undefined }],
    [{ support: 'none' }, { supported_until: undefined }],
    [{ supported_until: '2030-01-01T00:00:00Z' }, { supported_until: '2030-01-01T00:00:00Z' }],
    [
      { license_type: 'Extended', purchase_code: 'my-own' },
      { price: 150, purchase_code: 'my-own' },
    ],
  ])('add-purchase %j: a code that is valid at once, with %j', async (fields, expected) => {
    const running = await start({ clock: () => NOW });
    const { code } = await done(running, 'add-purchase', { item_id: 1046, ...fields });
    const { body } = await running.validate(String(code));
    const sold = { item: { id: 1046 }, downloaded: false, date: '2027-01-01T00:00:00Z' };
    const purchase = at(body, 'data.purchase') as Json;
    expect(purchase).toMatchObject({ ...sold, purchase_code: code });
    expect({ supported_until: undefined, ...purchase }).toMatchObject(expected);
  });

  it('adds an item and a user, who logs in at once', async ({ running }) => {
    const price = { regular: 5, extended: 9 };
    const { id } = await done(running, 'add-item', { name: 'Own', price });
    const { body } = await running.get(`/api/items/item?api_key=${running.apiKey}&item_id=${id}`);
    expect(body.item).toMatchObject({ name: 'Own', price });
    const { user_id } = await done(running, 'add-user', { user_name: 'kim' });
    const { url } = await done(running, 'accept-login', { user_id });
    expect(await infoBehind(running, String(url))).toMatchObject({ user_id, user_name: 'kim' });
  });

  it('makes keys, and sets where logins lead, also nowhere', async ({ running }) => {
    const { api_key } = await done(running, 'rotate-key', { workspace: 'northlight' });
    expect([await accepts(running, api_key), await accepts(running, running.apiKey)]).toEqual([
      ...[true, false],
    ]);
    const { appId: app_id } = running;
    await done(running, 'set-redirect', { app_id, redirect_url: 'http://b.example/' });
    expect(running.sandbox.redirectUrl).toBe('http://b.example/');
    await done(running, 'set-redirect', { app_id });
    expect(running.sandbox.redirectUrl).toBeUndefined();
  });

  it('moves the clock by a duration, to a time, and sets it right', async () => {
    const running = await start({ clock: () => NOW });
    for (const [fields, expected] of [
      [{ advance: '1h' }, NOW + 3_600_000],
      [{ advance: '-1.5d' }, NOW + 3_600_000 - 1.5 * DAY],
      [{ advance: '500ms' }, NOW + 3_600_500 - 1.5 * DAY],
      [{ set: '2028-01-01T00:00:00Z' }, Date.UTC(2028, 0, 1)],
      [{ reset: true }, NOW],
    ] as [object, number][]) {
      expect(Date.parse(String((await done(running, 'clock', fields)).now))).toBe(expected);
    }
  });

  it('sets some switches and puts others back, and leaves the rest alone', async () => {
    const running = await start({ dialect: { nulls: true, vanishedUser: true } });
    const { faults, dialect } = running.sandbox;
    const changes = { errorRate: 0.5, 'dialect.nulls': null, 'hang@/api/items/all': true };
    const shown = await done(running, 'set', changes);
    expect([faults.errorRate, faults.at('/api/items/all').hang]).toEqual([0.5, true]);
    expect({ ...dialect }).toMatchObject({ nulls: false, vanishedUser: true });
    expect(shown).toMatchObject((await running.get('/sandbox/api/show')).body);
    expect(shown).toMatchObject({
      'dialect.errorStatus': null,
      'faults.hang@/api/items/all': true,
    });
  });

  it('reads switches from text, as a form gives it: values as in code', async () => {
    const running = await start();
    const { faults, dialect } = running.sandbox;
    const texts = {
      latency: '[100,1000]',
      'faults.rateLimit': '60',
      errorRate: '0.5',
      html: 'true',
    };
    const { message } = await done(running, 'set', { ...texts, localised: 'de', nulls: 'true' });
    expect(faults).toMatchObject({
      latency: [100, 1000],
      rateLimit: 60,
      errorRate: 0.5,
      html: true,
    });
    expect(dialect).toMatchObject({ localised: 'de', nulls: true });
    // As a command takes it again.
    expect(message).toContain('On: faults.latency=[100,1000], faults.rateLimit=60,');
  });

  it.each([
    [
      'faults.latancy: there is no such switch; "marketgate sandbox switches"',
      { 'faults.latancy': 5 },
    ],
    ['nonsense: there is no such switch; "marketgate sandbox switches"', { nonsense: 5 }],
    ['dialect.errorStatus: expected "http", "ok"', { errorStatus: 'no' }],
    ['rateLimit: there are two; say faults.rateLimit or dialect.', { rateLimit: 5 }],
    ['faults.at: expected', { 'hang@everywhere': true }],
    ['faults.latency@key-api: expected', { 'latency@key-api': -1 }],
    ['faults.latency: expected milliseconds, as in 300 or', { latency: '300ms' }],
    ['expected an object', []],
  ])('set: %s, and sets nothing at all', async (sentence, changes) => {
    const running = await start();
    const given = Array.isArray(changes) ? changes : { html: true, ...changes };
    const { status, body } = await act(running, 'set', given);
    expect([status, body.message]).toEqual([400, expect.stringContaining(sentence)]);
    expect(running.sandbox.faults.html).toBe(false);
  });

  it('resets switches, faults, dialect, data, the clock and the log, each by its name', async () => {
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
    expect((await exchange(running, authKeyOf(login))).body.error).toBe(true);
    await done(running, 'reset');
    expect(dialect.nulls).toBe(false);
    expect((await act(running, 'reset', { names: ['everything'] })).status).toBe(400);
  });

  it.each<[string, string, object, number, string]>([
    ['POST', 'nothing', {}, 404, 'GET /sandbox/api lists them'],
    [
      'POST',
      'refund',
      { purchase_code: 'sentinel' },
      400,
      'no purchase has this code; "marketgate sandbox codes" lists',
    ],
    [
      'POST',
      'accept-login',
      { user_id: 'sentinel' },
      400,
      'user_id: there is none with this value; there are 3001, 3002, ',
    ],
    ['POST', 'refund', {}, 400, 'fields.purchase_code: expected string'],
    ['POST', 'refund', { purchase_code: CODE, a: 1 }, 400, 'fields.a: there is no such field'],
    ['POST', 'clock', { advance: 'soon' }, 400, 'fields.advance: expected a duration'],
    ['POST', 'clock', { advance: '10' }, 400, 'with its unit'],
    ['POST', 'clock', { set: '2030-01-01' }, 400, 'a time, as in 2030-01-31T12:00:00Z'],
    [
      'POST',
      'clock',
      { advance: '9999999999d' },
      400,
      'clock.advance: expected milliseconds within',
    ],
    ['POST', 'add-app', { name: 'a\nNODE_OPTIONS=x' }, 400, 'without control characters'],
    ['POST', 'add-purchase', { item_id: 1042, purchase_code: CODE }, 400, 'code: given twice'],
    ['GET', 'refund', {}, 405, 'takes POST requests only'],
  ])(
    '%s %s %j: %i in JSON, which says why and repeats no value',
    async (method, name, fields, status, sentence) => {
      const running = await start();
      const { purchases } = running.sandbox.snapshot().seed;
      const answer =
        method === 'GET'
          ? await running.get(`/sandbox/api/${name}`)
          : await act(running, name, fields);
      expect([answer.status, answer.body.message]).toEqual([
        ...[status, expect.stringContaining(sentence)],
      ]);
      expect(answer.text).not.toMatch(/sentinel|6f1c2a54/);
      expect(running.sandbox.data.purchases).toEqual(purchases);
    },
  );

  it('a body of another type, which any website can send, is refused: 415', async ({ running }) => {
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
});

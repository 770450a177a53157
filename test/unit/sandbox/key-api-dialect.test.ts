import { describe, expect, it } from 'vitest';
import { createSandbox, type SandboxDialect } from '../../../src/sandbox/index.js';
import { type Answer, at, NOW, type Running, speaking, start } from './support.js';

const account = (running: Running) => running.get(`/api/account/details?api_key=${running.apiKey}`);
const all = (running: Running) => running.get(`/api/items/all?api_key=${running.apiKey}`);
const item = (running: Running, id = 1042) =>
  running.get(`/api/items/item?api_key=${running.apiKey}&item_id=${id}`);

describe('the key API', () => {
  it("errorStatus 'ok': every documented error with HTTP 200, a missing parameter still with 400", async () => {
    const running = await speaking({ errorStatus: 'ok' });
    const answers = [
      await running.get('/api/account/details?api_key=x'),
      await running.get('/api/items/all?api_key=x'),
      await item(running, 9),
      await running.validate('wrong'),
      await running.validate(' '),
    ];
    expect(answers.map(({ status, body }) => [status, body.msg])).toEqual([
      [200, 'Invalid request'],
      [200, 'No items found'],
      [200, 'Item Not Found'],
      [200, 'Invalid purchase code'],
      [400, 'The purchase code field is required.'],
    ]);
  });

  const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  const URL_OF = (number: number) => expect.stringMatching(`screenshot-${number}\\.svg$`);
  const LOCALISED = {
    tr: ['başarılı', 'hata', 'Geçersiz satın alma kodu', 'Genişletilmiş'],
    de: ['erfolgreich', 'Fehler', 'Ungültiger Kaufcode', 'Erweitert'],
  };
  const nothing = (running: Running) => running.get('/api/items/all?api_key=x');
  const code = (kind: string) => (running: Running) => running.validate(running.code(kind));
  const otherAccount = (running: Running) =>
    running.get(`/api/account/details?api_key=${running.sandbox.data.workspaces[1]?.api_key}`);

  it.each<[Partial<SandboxDialect>, (running: Running) => Promise<Answer>, string, unknown]>([
    [{ capitalisation: true }, nothing, 'msg', 'No Items Found'],
    [{ validationEnvelope: 'item' }, code('supported'), 'item.item.id', 1042],
    [{ validationEnvelope: 'item' }, code('supported'), 'data', undefined],
    [{ tagsAsString: true }, item, 'item.tags', 'fjord,dawn,landscape,norway'],
    [{ tagsAsString: true }, code('supported'), 'data.purchase.item.tags', expect.any(String)],
    [{ nulls: true }, item, 'item.options', null],
    [{ nulls: true }, item, 'item.version', null],
    [{ nulls: true }, item, 'item.demo_link', null],
    [{ nulls: true }, item, 'item.sub_category', null],
    [{ nulls: true }, item, 'item.name', 'Fjord Light'],
    [{ nulls: true }, account, 'data.profile.heading', null],
    [{ nulls: true }, account, 'data.profile.description', null],
    [{ nulls: true }, account, 'data.profile.contact', { email: null }],
    [{ nulls: true }, account, 'data.profile.social_links', null],
    [{ nulls: true }, otherAccount, 'data.profile.social_links', { soundcloud: null }],
    [
      { screenshotsAsObject: true },
      item,
      'item.media.screenshots',
      { 0: URL_OF(1), 1: URL_OF(2), 2: URL_OF(3), 3: URL_OF(4) },
    ],
    [{ screenshotsAsObject: true }, (of) => item(of, 1048), 'item.media.screenshots', null],
    [{ microseconds: true }, account, 'data.registered_at', TIME],
    [{ microseconds: true }, item, 'item.published_at', TIME],
    [{ microseconds: true }, code('supported'), 'data.purchase.date', TIME],
    [{ microseconds: true }, code('supported'), 'data.purchase.supported_until', TIME],
    [{ numericStrings: true }, account, 'data.balance', '4318.75'],
    [{ numericStrings: true }, item, 'item.price', { regular: '24.00', extended: '180.00' }],
    [{ numericStrings: true }, code('supported'), 'data.purchase.price', '24.00'],
  ])('%j: in the answer of %o, %s is %j', async (dialect, ask, path, expected) => {
    const { body } = await ask(await speaking(dialect));
    expect(body).toHaveProperty('status');
    expect(at(body, path)).toEqual(expected);
  });

  it.each([
    [true, LOCALISED.tr],
    ['tr', LOCALISED.tr],
    ['de', LOCALISED.de],
  ] as const)('localised %s: status, msg and license_type', async (localised, words) => {
    const [yes, no, msg, license] = words;
    const running = await speaking({ localised });
    const good = await running.validate(running.code('extended'));
    expect([good.status, good.body.status]).toEqual([200, yes]);
    expect(at(good.body, 'data.purchase.license_type')).toBe(license);
    const bad = await running.validate('wrong');
    expect([bad.status, bad.body]).toEqual([404, { status: no, msg }]);
    expect((await running.validate('')).body.msg).not.toMatch(/required|purchase/);
  });

  it('supportedUntilPast: present also when already past, absent without support', async () => {
    const running = await speaking({ supportedUntilPast: true });
    const { body } = await running.validate(running.code('support-over'));
    expect(Date.parse(String(at(body, 'data.purchase.supported_until')))).toBeLessThan(NOW);
    const other = await running.validate(running.code('unsupported'));
    expect(at(other.body, 'data.purchase')).not.toHaveProperty('supported_until');
  });

  it('singleItemBug: one item reads as none, two do not', async () => {
    const items = createSandbox().data.items.filter((each) => each.workspace === 'northlight');
    const withItems = (count: number) =>
      start({ dialect: { singleItemBug: true }, seed: { items: items.slice(0, count) } });
    const one = await withItems(1);
    expect((await all(one)).body.msg).toBe('No items found');
    expect((await item(one)).status).toBe(200);
    one.sandbox.dialect.singleItemBug = false;
    expect((await all(one)).body.items).toHaveLength(1);
    expect((await all(await withItems(2))).body.items).toHaveLength(2);
  });

  it('rateLimit: 60 a minute, then 429 with Retry-After and X-RateLimit-*, until the minute has passed', async () => {
    const running = await speaking({ rateLimit: true });
    for (let i = 0; i < 60; i++) expect((await account(running)).status).toBe(200);
    running.sandbox.clock.advance(15_000);
    const { status, headers, text } = await account(running);
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toBe('45');
    expect(headers.get('x-ratelimit-limit')).toBe('60');
    expect(headers.get('x-ratelimit-remaining')).toBe('0');
    expect(text).toMatch(/^<!doctype html>/);
    running.sandbox.clock.advance(45_000);
    expect((await account(running)).status).toBe(200);
  });

  it('rateLimit: {message} for clients that accept JSON, and any number', async () => {
    const running = await speaking({ rateLimit: 1 });
    await account(running);
    const path = `/api/account/details?api_key=${running.apiKey}`;
    const { status, body } = await running.get(path, { accept: 'application/json' });
    expect([status, body]).toEqual([429, { message: 'Too Many Attempts.' }]);
  });

  it('browserRedirect: browsers are sent to the home page, others are not', async () => {
    const running = await speaking({ browserRedirect: true });
    const path = `/api/account/details?api_key=${running.apiKey}`;
    for (const agent of ['Mozilla/5.0', 'Chrome/1', 'Firefox/1', 'Edge/1', 'Opera/9']) {
      const { status, headers } = await running.get(path, { 'user-agent': agent });
      expect([status, headers.get('location')]).toEqual([302, '/']);
    }
    expect((await running.get(path, { 'user-agent': 'my-shop/1.0' })).status).toBe(200);
  });

  it('apiDisabled: a plain HTML 404 on every path', async () => {
    const running = await speaking({ apiDisabled: true });
    const other = () => running.get('/api/items/nope');
    for (const ask of [account, all, item, () => running.validate('x'), other]) {
      const { status, headers, text } = await ask(running);
      expect(status).toBe(404);
      expect(headers.get('content-type')).toContain('text/html');
      expect(text).not.toContain('msg');
    }
    running.sandbox.dialect.apiDisabled = false;
    expect((await other()).text).toContain('msg');
  });

  it.each([
    [true, 404, { msg: 'Page not found' }],
    [404, 404, { msg: 'Page not found' }],
    [405, 405, { code: 405, msg: 'Method not allowed' }],
    [413, 413, { code: 413, msg: 'Request entity too large' }],
    [415, 415, { code: 415, msg: 'Unsupported media type' }],
  ] as const)(
    'gatewayErrors %s: every endpoint is HTTP %i with a msg of the gateway',
    async (gatewayErrors, ...answer) => {
      const running = await speaking({ gatewayErrors });
      for (const ask of [account, all, item, () => running.validate(running.code('supported'))]) {
        const { status, body } = await ask(running);
        expect([status, body]).toEqual(answer);
      }
    },
  );

  it.each([
    [true, {}, 'html'],
    [true, { accept: 'application/json' }, 'json'],
    ['html', { accept: 'application/json' }, 'html'],
    ['json', {}, 'json'],
  ] as const)('crash %s, asked with %j: 500 as %s', async (crash, headers, form) => {
    const answer = await (await speaking({ crash })).get('/api/items/all?api_key=x', headers);
    expect(answer.status).toBe(500);
    if (form === 'json') expect(answer.body).toEqual({ message: 'Server Error' });
    else expect(answer.text).toMatch(/^<!doctype html>/);
  });

  it('trimming off: blanks around a code make it another code', async () => {
    const running = await speaking({ trimming: false });
    const code = running.code('supported');
    expect((await running.validate(` ${code}`)).body.msg).toBe('Invalid purchase code');
    expect((await running.validate(' ')).body.msg).toBe('Invalid purchase code');
    expect((await running.validate(code)).status).toBe(200);
  });
});

it('the switches leave the data as it was', async () => {
  const running = await speaking({ nulls: true, numericStrings: true });
  const before = structuredClone(running.sandbox.data.items);
  await all(running);
  expect(running.sandbox.data.items).toEqual(before);
});

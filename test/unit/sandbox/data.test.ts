import { describe, expect } from 'vitest';
import { createSandbox } from '../../../src/sandbox/index.js';
import { at, it, start } from './support.js';

const NOW = Date.UTC(2027, 0, 1);
const DAY = 86_400_000;

describe('sandbox.data', () => {
  it('addPurchase: a new code that is valid at once, with half a year of support', async () => {
    const running = await start({ clock: () => NOW });
    const { purchase_code } = running.sandbox.data.addPurchase({ item_id: 1046 });
    const { body } = await running.validate(purchase_code);
    expect(at(body, 'data.purchase')).toMatchObject({
      item: { id: 1046 },
      license_type: 'Regular',
      price: 19,
      downloaded: false,
      date: '2027-01-01T00:00:00Z',
      supported_until: new Date(NOW + 182 * DAY).toISOString().replace('.000Z', 'Z'),
    });
  });

  it('addPurchase: extended price, own code, no support', async ({ running }) => {
    running.sandbox.data.addPurchase({
      item_id: 1042,
      license_type: 'Extended',
      purchase_code: 'my-own-code',
      supported_until: null,
    });
    const { body } = await running.validate('my-own-code');
    expect(at(body, 'data.purchase.price')).toBe(180);
    expect(at(body, 'data.purchase')).not.toHaveProperty('supported_until');
    expect(running.sandbox.codes.at(-1)).toMatchObject({ code: 'my-own-code', kind: 'added' });
  });

  it.each<[object, RegExp]>([
    [{ item_id: 5 }, /item_id/],
    [{ item_id: 1042, purchase_code: '' }, /purchase_code/],
    [{ item_id: 1042, price: '5' }, /price/],
    [{ item_id: 1042, colour: 'red' }, /colour/],
    [{ item_id: 1042, purchase_code: '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10' }, /given twice/],
  ])('addPurchase(%j) is refused', (given, message) => {
    const { data } = createSandbox();
    expect(() => Reflect.apply(data.addPurchase, data, [given])).toThrow(message);
    expect(data.purchases).toHaveLength(12);
  });

  it('setSupportedUntil moves the end of support, which ends by the clock, or takes support away', async () => {
    const running = await start({ clock: () => NOW });
    const { data, clock } = running.sandbox;
    const code = running.code('unsupported');
    const until = async () =>
      at((await running.validate(code)).body, 'data.purchase.supported_until');
    data.setSupportedUntil(code, NOW + DAY);
    clock.set(NOW + DAY - 1000);
    expect(await until()).toBe('2027-01-02T00:00:00Z');
    clock.advance(1000);
    expect(await until()).toBeUndefined();
    clock.set(NOW);
    for (const none of [undefined, null]) {
      data.setSupportedUntil(code, NOW + DAY);
      data.setSupportedUntil(code, none);
      expect(await until()).toBeUndefined();
    }
    const noDate = 'supported_until: this is no date';
    expect(() => data.setSupportedUntil(code, 'soon')).toThrow(noDate);
    expect(() => data.addPurchase({ item_id: 1042, supported_until: 'soon' })).toThrow(noDate);
  });

  it('deleteItem: out of the catalogue, still inside a purchase', async ({ running }) => {
    running.sandbox.data.deleteItem(1042);
    const key = `api_key=${running.apiKey}`;
    const { body } = await running.get(`/api/items/item?${key}&item_id=1042`);
    expect(body.msg).toBe('Item Not Found');
    expect((await running.get(`/api/items/all?${key}`)).text).not.toContain('"id":1042,');
    const purchase = await running.validate(running.code('supported'));
    expect(at(purchase.body, 'data.purchase.item.id')).toBe(1042);
  });

  it('says so when there is no such thing, without repeating a code', () => {
    const { data } = createSandbox();
    expect(() => data.refundPurchase('sentinel-code')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('sentinel') }),
    );
    expect(() => data.deleteItem(5)).toThrow('item_id');
    expect(() => data.rotateApiKey('nobody')).toThrow('workspace');
    expect(() => data.setRedirectUrl('nobody', undefined)).toThrow('app');
    expect(() => data.removeUser('nobody')).toThrow('user');
  });
});

it.each([
  ...['/callback', '', 'http://a.example/ b', 'http://a.example/\nSet-Cookie: x'],
  ...['localhost:3000/callback', 'javascript:alert(1)', 'http:a.example/cb', 'http:///cb'],
])('sandbox.redirectUrl refuses %j', (url) => {
  const sandbox = createSandbox({ redirectUrl: 'HTTP://a.example/cb' });
  const assign = () => Object.assign(sandbox, { redirectUrl: url });
  expect(assign).toThrow(new TypeError('redirectUrl: expected an absolute http or https URL'));
  expect(sandbox.redirectUrl).toBe('HTTP://a.example/cb');
});

describe('sandbox.clock', () => {
  it('is callable, runs on its base (by default Date.now), and moves by advance and set', () => {
    let base = 1000;
    const { clock } = createSandbox({ clock: () => base });
    expect([clock(), clock.now()]).toEqual([1000, 1000]);
    clock.advance(500);
    expect(clock()).toBe(1500);
    clock.set(90_000);
    base += 5;
    expect(clock()).toBe(90_005);
    const before = Date.now();
    expect(createSandbox().clock()).toBeGreaterThanOrEqual(before);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('refuses %s', (ms) => {
    const { clock } = createSandbox();
    expect(() => clock.advance(ms)).toThrow(TypeError);
    expect(() => clock.set(ms)).toThrow(TypeError);
  });
});

describe('sandbox.codes', () => {
  it('has every kind of purchase, each with a sentence', () => {
    const { codes } = createSandbox();
    const kinds = 'supported support-over unsupported other-item extended other-workspace refunded';
    expect(codes.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds.split(' ')));
    for (const { description, item_name } of codes) {
      expect(description).toMatch(/^[A-Z].+\.$/);
      expect(item_name).not.toBe('');
    }
  });

  it('tells the truth of what has become of a purchase', () => {
    const sandbox = createSandbox();
    const { data } = sandbox;
    const said = (kind: string) => sandbox.codes.find((code) => code.kind === kind)?.description;
    expect(said('deleted-item')).toMatch(/^Valid, with support until .+; its item has left/);
    for (const { code, kind } of sandbox.codes) {
      if (kind === 'supported' || kind === 'deleted-item') data.refundPurchase(code);
    }
    expect(said('deleted-item')).toBe('Was refunded: the service calls it invalid.');
    expect(said('supported')).toBe('Was refunded: the service calls it invalid.');
    data.addPurchase({ item_id: 1061 });
    expect(said('added')).toContain('invalid under the first one’s key');
  });
});

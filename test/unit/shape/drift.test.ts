import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DriftReports } from '../../../src/diagnostics/drift.js';
import { accountSchema } from '../../../src/key-api/account.js';
import { itemSchema } from '../../../src/key-api/item.js';
import { purchaseSchema } from '../../../src/key-api/purchase.js';
import { userInfoSchema } from '../../../src/login-api/user-info.js';
import { readShape } from '../../../src/shape/read-shape.js';
import { account, item, purchase, userInfo } from '../../support/wire.js';

function read(schema: Parameters<typeof readShape>[0], value: unknown): unknown {
  const shaped = readShape(schema, value, '/api/x', 'data', new DriftReports(Date.now));
  return shaped.ok ? shaped.value : shaped.problem;
}

describe('a documented shape', () => {
  it.each([
    ['Account', accountSchema, account],
    ['Item', itemSchema, item],
    ['Purchase', purchaseSchema, purchase],
    ['UserInfo', userInfoSchema, userInfo],
  ])('%s is taken as it is, without a copy', (_name, schema, value) => {
    expect(read(schema, value)).toBe(value);
  });

  it('keeps fields that the specification does not know', () => {
    const value = { ...userInfo, profile_picture: 'x', nested: { a: [1] } };
    expect(read(userInfoSchema, value)).toBe(value);
  });
});

describe('known harmless drift is read into the documented shape', () => {
  it.each([
    ['tags as "a,b,c"', { tags: 'a, b,,c' }, { tags: ['a', 'b', 'c'] }],
    ['tags as ""', { tags: '' }, { tags: [] }],
    ['id as digits', { id: '1042' }, { id: 1042 }],
    ['name as a number', { name: 2048 }, { name: '2048' }],
    [
      'prices as strings',
      { price: { regular: '29', extended: '149.50' } },
      { price: { regular: 29, extended: 149.5 } },
    ],
    ['version as a number', { version: 2 }, { version: '2' }],
    [
      'screenshots as an object',
      { media: { ...item.media, screenshots: { 0: 'a', 1: 'b' } } },
      { media: { ...item.media, screenshots: ['a', 'b'] } },
    ],
  ])('%s', (_name, drifted, documented) => {
    expect(read(itemSchema, { ...item, ...drifted })).toEqual({ ...item, ...documented });
  });

  it('null is absent, at every depth', () => {
    const { options, version, demo_link, sub_category, price, ...rest } = item;
    const nulls = {
      options: null,
      version: null,
      demo_link: null,
      sub_category: null,
      price: null,
    };
    const read1 = read(itemSchema, {
      ...rest,
      ...nulls,
      media: { thumbnail: 't', screenshots: null },
    });
    expect(read1).toStrictEqual({ ...rest, media: { thumbnail: 't' } });

    const profile = {
      ...account.profile,
      heading: null,
      description: null,
      contact: { email: null },
    };
    expect(
      read(accountSchema, { ...account, profile: { ...profile, social_links: null } }),
    ).toStrictEqual({
      ...account,
      profile: { contact: {}, media: account.profile.media },
    });
    expect(
      read(accountSchema, {
        ...account,
        profile: { ...profile, social_links: { x: null, y: 'z' } },
      }),
    ).toMatchObject({ profile: { social_links: { y: 'z' } } });
  });

  it('containers are there although nothing was sent: PHP makes [] of an empty map', () => {
    expect(read(accountSchema, { username: 'a' })).toMatchObject({
      name: {},
      profile: { contact: {}, media: {} },
    });
    expect(read(itemSchema, { id: 1, name: 'a', media: [] })).toEqual({
      id: 1,
      name: 'a',
      media: {},
    });
    expect(
      read(accountSchema, { ...account, profile: { ...account.profile, social_links: [] } }),
    ).toMatchObject({ profile: { social_links: {} } });
  });

  it.each([
    [0, false],
    ['1', true],
    ['true', true],
    ['FALSE', false],
  ])('downloaded %j is %s', (sent, downloaded) => {
    expect(read(purchaseSchema, { ...purchase, downloaded: sent })).toMatchObject({ downloaded });
  });

  it('an empty supported_until is absent', () => {
    const { supported_until, ...rest } = purchase;
    expect(read(purchaseSchema, { ...purchase, supported_until: '' })).toStrictEqual(rest);
  });

  it('timestamps with microseconds are timestamps', () => {
    const value = { ...purchase, supported_until: '2020-02-18T07:42:08.000000Z' };
    expect(read(purchaseSchema, value)).toBe(value);
  });

  it('a user_id as a number is a string', () => {
    expect(read(userInfoSchema, { ...userInfo, user_id: 77 })).toEqual(userInfo);
  });

  it.each([
    [true, '1'],
    [false, '0'],
  ])('user_verified %s is "%s"', (sent, user_verified) => {
    expect(read(userInfoSchema, { ...userInfo, user_verified: sent })).toMatchObject({
      user_verified,
    });
  });

  it('does not change what it was given', () => {
    const value = { ...item, tags: 'a,b', media: Object.freeze({ thumbnail: 1 }) };
    const before = structuredClone(value);
    read(itemSchema, value);
    expect(value).toEqual(before);
  });

  it('is reported with its path and without its value', () => {
    const reports: unknown[] = [];
    const listen = (message: unknown): void => void reports.push(message);
    subscribe('marketgate:drift', listen);
    onTestFinished(() => void unsubscribe('marketgate:drift', listen));
    read(purchaseSchema, { ...purchase, item: { ...item, tags: 'secret,words' } });
    expect(reports).toEqual([
      { endpoint: '/api/x', kind: 'mended', path: 'data.item.tags', expected: 'list' },
    ]);
  });
});

describe('what is not harmless is refused, with its path', () => {
  it.each<[string, unknown, string]>([
    ['a list for an item', [item], 'data'],
    ['a string for an item', 'x', 'data'],
    ['no id', { ...item, id: undefined }, 'data.id'],
    ['an id with a fraction', { ...item, id: 1.5 }, 'data.id'],
    ['an id in words', { ...item, id: 'x' }, 'data.id'],
    ['no name', { ...item, name: null }, 'data.name'],
    ['an object for a name', { ...item, name: { en: 'x' } }, 'data.name'],
    ['an object for tags', { ...item, tags: { en: 'x' } }, 'data.tags'],
    ['a string for media', { ...item, media: 'x' }, 'data.media'],
    ['an object among tags', { ...item, tags: [{}] }, 'data.tags[0]'],
    ['words for a price', { ...item, price: { regular: 'free' } }, 'data.price.regular'],
    [
      'infinity for a price',
      { ...item, price: { regular: Number.POSITIVE_INFINITY } },
      'data.price.regular',
    ],
  ])('%s', (_name, value, path) => {
    expect(read(itemSchema, value)).toEqual(expect.stringContaining(`${path}: `));
  });

  it('does not repeat the keys of an open map', () => {
    const social_links = { 'secret-key-in-a-map': {} };
    const problem = read(accountSchema, {
      ...account,
      profile: { ...account.profile, social_links },
    });
    expect(problem).toEqual(expect.stringContaining('data.profile.social_links.*'));
    expect(problem).not.toContain('secret-key');
  });
});

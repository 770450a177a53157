import { describe, expect, it } from 'vitest';
import { DriftReports } from '../../../src/diagnostics/drift.js';
import { readAccount, readItem, readPurchase } from '../../../src/key-api/readers.js';
import { account, item, purchase } from '../../support/wire.js';

const drift = new DriftReports(() => 0);

/** A copy of a body with one place in it changed. */
function withPlace(body: object, path: string, value: unknown): object {
  const copy = structuredClone(body) as Record<string, unknown>;
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let at = copy;
  for (const key of keys) {
    at[key] ??= {};
    at = at[key] as Record<string, unknown>;
  }
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

/** Every place of a payload: which there must be, and which may be absent. */
const places = {
  account: {
    read: readAccount,
    body: account,
    needed: ['username'],
    optional: [
      'name.firstname',
      'name.lastname',
      'name.full_name',
      'email',
      'balance',
      'currency',
      'profile.heading',
      'profile.description',
      'profile.contact.email',
      'profile.social_links',
      'profile.social_links.x',
      'profile.media.avatar',
      'profile.media.cover',
      'registered_at',
    ],
  },
  item: {
    read: readItem,
    body: item,
    needed: ['id', 'name'],
    optional: [
      'description',
      'category',
      'sub_category',
      'options',
      'version',
      'demo_link',
      'tags',
      'media.thumbnail',
      'media.preview_image',
      'media.preview_video',
      'media.preview_audio',
      'media.screenshots',
      'price',
      'price.regular',
      'price.extended',
      'currency',
      'published_at',
    ],
  },
  purchase: {
    read: readPurchase,
    body: purchase,
    needed: ['purchase_code', 'item.id'],
    optional: [
      'license_type',
      'price',
      'currency',
      'item.name',
      'supported_until',
      'downloaded',
      'date',
    ],
  },
};

for (const [name, { read, body, needed, optional }] of Object.entries(places)) {
  const reading = (value: unknown) => read(value, '/api/x', 'at', drift);

  describe(`the ${name}`, () => {
    it('as documented is read as it is, with fields that nobody knows, everywhere', () => {
      expect(reading(body)).toEqual({ ok: true, value: body });
      const containers = ['media', 'price', 'name', 'profile', 'item', 'profile.contact'];
      for (const path of ['', ...containers]) {
        const at = path.split('.').reduce<unknown>((o, key) => {
          return key === '' ? o : (o as Record<string, unknown> | undefined)?.[key];
        }, body);
        if (typeof at !== 'object') continue;
        const more = withPlace(body, path === '' ? 'trace' : `${path}.trace`, { deep: [7] });
        expect(reading(more)).toEqual({ ok: true, value: more });
      }
    });

    it.each([...needed, ...optional])('%s of another kind is refused, by its name', (path) => {
      const shaped = reading(withPlace(body, path, [{ odd: true }]));
      expect(shaped.ok).toBe(false);
      const problem = shaped.ok ? '' : shaped.problem;
      expect(problem.startsWith(`at.${path}`)).toBe(true);
    });

    it.each(needed)('%s must be there', (path) => {
      expect(reading(withPlace(body, path, undefined)).ok).toBe(false);
    });

    it.each(optional)('%s may be absent, and null', (path) => {
      const without = withPlace(body, path, undefined);
      expect(reading(without)).toEqual({ ok: true, value: without });
      const parent = path.includes('social_links.') ? without : withPlace(body, path, null);
      expect(reading(parent)).toEqual({ ok: true, value: without });
    });
  });
}

describe('what a guard rests on', () => {
  it.each([
    ['no code', { ...purchase, purchase_code: '' }],
    ['an id that is no whole number', { ...purchase, item: { ...item, id: 1.5 } }],
    ['support that ends on no date', { ...purchase, supported_until: 'soon' }],
  ])('%s is no purchase', (_name, value) => {
    expect(readPurchase(value, '/api/x', 'at', drift).ok).toBe(false);
  });

  it('a date of support that is none says what was expected', () => {
    const shaped = readPurchase({ ...purchase, supported_until: 'soon' }, '/api/x', 'at', drift);
    expect(shaped).toEqual({ ok: false, problem: 'at.supported_until: expected a timestamp' });
  });

  it('an account without a name to call it by is none', () => {
    expect(readAccount({ ...account, username: '' }, '/api/x', 'at', drift).ok).toBe(false);
  });
});

import { describe, expect, it, vi } from 'vitest';
import { Seal } from '../../../src/cache/seal.js';
import { expectError } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { begun, KeyApiService, settle } from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { json, text } from '../../support/service-in-memory.js';
import { account, CODE, item, KEY, purchase } from '../../support/wire.js';

// The format of entries is what processes of two releases share: it is tested with its own seal.
const CONTEXT = 'https://market.example\n';
const seal = new Seal(KEY, CONTEXT);
const LARGEST = 512 * 1024;
const LIFE = 24 * 3_600_000;
// A millisecond before the tests.
const ORDER = (new KeyApiService().now - 1) * 1000;
const YEAR = 365 * LIFE;
const GENERATION = seal.name('generation');
const OTHER = 'another-purchase-code';

function fleet(cache: object = {}) {
  const service = new KeyApiService();
  const shared = new MemorySharedCache(() => service.now);
  const keyApi = service.client({ cache: { shared, ...cache } });
  // As another process has begun it.
  const value = seal.seal(`${GENERATION} 2`, '0');
  shared.rows.set(GENERATION, { value, order: 2, expiresAt: service.now + YEAR });
  return { service, shared, keyApi, write: vi.spyOn(shared, 'write') };
}

type Kind = 'account' | 'item' | 'items' | 'purchase';
const KEYS = { account: '', item: '7', items: '', purchase: CODE };

/** The name of a row, in a fleet where nothing was ever invalidated as a whole. */
const nameOf = (subject: string): string => seal.name(`2 ${subject}`);

/** What a process makes of an entry that lies in the shared cache. */
async function reading(kind: Kind, plain: string, by = seal, sealedFor?: string) {
  const { service, shared, keyApi } = fleet();
  const name = nameOf(`${kind} ${KEYS[kind]}`);
  await shared.write(name, by.seal(`${sealedFor ?? name} ${ORDER}`, plain), LIFE - 1, ORDER);
  const drift = hear('drift');
  await {
    account: () => keyApi.getAccount(),
    item: () => keyApi.getItem(7),
    items: () => keyApi.listItems(),
    purchase: () => keyApi.validatePurchase(CODE),
  }[kind]();
  return { isServed: service.asked('all') === 0, drift };
}

const entry = (value: unknown): string =>
  JSON.stringify({ spelling: CODE, life: LIFE, ...(value !== null && { value }) });

const UNREADABLE = {
  endpoint: 'shared cache',
  kind: 'dropped',
  path: 'value',
  expected: 'a value sealed by this fleet, of this version',
};

const forge = { id: 1042, name: 'Forge', media: {} };
const sold = { purchase_code: 'c', license_type: 'Regular', item: forge };

describe('an entry', () => {
  it.each<[Kind, unknown]>([
    ['account', account],
    ['item', forge],
    ['items', []],
    ['items', [forge, forge]],
    ['purchase', null],
    ['purchase', sold],
    ['purchase', { purchase_code: 'c', item: forge }],
    ['purchase', { ...sold, supported_until: '2030-01-01T00:00:00Z', of_a_later_version: 1 }],
  ])('%s %j is served', async (kind, value) => {
    expect(await reading(kind, entry(value))).toEqual({ isServed: true, drift: [] });
  });

  it.each<[Kind, unknown]>([
    ['account', {}],
    ['account', [{ username: 'smith' }]],
    ['item', {}],
    ['item', { id: '1042' }],
    ['items', forge],
    ['items', [forge, {}]],
    ['items', [null]],
    ['purchase', forge],
    ['purchase', { ...sold, purchase_code: 1 }],
    ['purchase', { ...sold, item: undefined }],
    ['purchase', { ...sold, item: { id: '1042' } }],
    ['purchase', { ...sold, license_type: 1 }],
    ['purchase', { ...sold, item: { ...forge, tags: 'a,b' } }],
    ['purchase', { ...sold, supported_until: 1_800_000_000 }],
    ['purchase', 'yes'],
  ])('of a version with other shapes is not: %s %j', async (kind, value) => {
    expect(await reading(kind, entry(value))).toEqual({ isServed: false, drift: [UNREADABLE] });
  });

  it.each<[string, string, Seal?, string?]>([
    ['without a life', '{"value":{}}'],
    ['with a life in words', '{"life":"long","value":null}'],
    ['that is null', 'null'],
    ['of another fleet', entry(sold), new Seal('other', CONTEXT)],
    ['of another shop', entry(sold), new Seal(KEY, 'https://other.example\n')],
    ['of another code', entry(sold), seal, nameOf(`purchase ${OTHER}`)],
  ])('%s is not served, and reported', async (_name, plain, by, sealedFor) => {
    const found = await reading('purchase', plain, by, sealedFor);
    expect(found).toEqual({ isServed: false, drift: [UNREADABLE] });
  });

  it.each<[string, (value: string) => string]>([
    ['corrupt', () => 'x'],
    ['empty', () => ''],
    ['of another version', (value) => value.replace('2.', '1.')],
    ['cut', (value) => value.slice(0, 30)],
    ['changed by one bit', (v) => v.slice(0, -2) + (v.endsWith('AA') ? 'BB' : 'AA')],
    ['in clear', () => entry(purchase)],
  ])('that is tampered with is not believed: %s', async (_name, tamper) => {
    const { service, shared, keyApi } = fleet();
    await keyApi.validatePurchase(CODE);
    await settle();
    for (const [name, row] of shared.rows) {
      shared.rows.set(name, { ...row, value: tamper(row.value) });
    }
    service.says = 'negative';
    expect(await service.client({ cache: { shared } }).validatePurchase(CODE)).toBeNull();
  });

  it('cannot be moved to another code: nobody grants himself a purchase', async () => {
    const { service, shared, keyApi } = fleet();
    await keyApi.validatePurchase(CODE);
    await settle();
    const [valid] = [...shared.rows.values()];
    service.says = 'negative';
    await keyApi.validatePurchase(OTHER);
    await settle();
    for (const name of shared.rows.keys()) if (valid) shared.rows.set(name, valid);
    expect(await service.client({ cache: { shared } }).validatePurchase(OTHER)).toBeNull();
  });

  it('cannot be made to look later: its order is sealed', async () => {
    const { service, shared, keyApi } = fleet();
    await keyApi.validatePurchase(CODE);
    const [[name, valid] = []] = [...shared.rows];
    await keyApi.invalidate(CODE);
    if (name && valid) shared.rows.set(name, { ...valid, order: valid.order + 1e9 });
    service.says = 'negative';
    expect(await service.client({ cache: { shared } }).validatePurchase(CODE)).toBeNull();
  });

  it('cannot be made to live longer', async () => {
    const { service, shared, keyApi } = fleet();
    await keyApi.validatePurchase(CODE);
    service.now += 25 * 3_600_000;
    for (const [name, row] of shared.rows) {
      shared.rows.set(name, { ...row, expiresAt: service.now + LIFE });
    }
    service.says = 'outage';
    const late = service.client({ cache: { shared } }).validatePurchase(CODE);
    await expectError(late, 'service_unavailable');
  });

  it('shows neither code nor key, nor anything of the purchase; no more do messages', async () => {
    const { shared, keyApi } = fleet();
    await keyApi.validatePurchase(CODE);
    await settle();
    await keyApi.invalidate(CODE);
    await keyApi.validatePurchase(CODE);
    await settle();
    const everything = JSON.stringify([[...shared.rows], shared.messages]);
    const decoded = everything.replace(/[\w-]{20,}/g, (word) =>
      Buffer.from(word, 'base64url').toString('latin1'),
    );
    for (const secret of [CODE, KEY, 'Quiet Harbour', 'license_type']) {
      expect(everything).not.toContain(secret);
      expect(decoded).not.toContain(secret);
    }
  });
});

describe('the life of an entry', () => {
  const limits = { ttl: 100, staleWhileRevalidate: 50, staleIfError: 5000, invalidTtl: 50 };

  // Counted from the request; what has expired by then is not written.
  it.each<[string, object, 'positive' | 'negative', number, number | undefined]>([
    ['staleIfError', {}, 'positive', 0, 5000],
    ['all that it may be served, where that is longer', { ttl: 7000 }, 'positive', 0, 7050],
    ['staleIfError without the time of the request', {}, 'positive', 9, 4991],
    ['whole milliseconds', {}, 'positive', 9.5, 4991],
    ['the last millisecond', {}, 'positive', 4999, 1],
    ['none when it took too long', {}, 'positive', 5000, undefined],
    ['as long as what it withdraws, for a negative one', {}, 'negative', 0, 5000],
    ['the same for one that took long', {}, 'negative', 60, 5000],
  ])('is %s', async (_name, others, says, took, life) => {
    const { service, keyApi, write } = fleet({ ...limits, ...others });
    await keyApi.getAccount();
    await settle();
    write.mockClear();
    service.hold();
    service.says = says;
    const [asked] = await begun(keyApi.validatePurchase(CODE));
    service.now += took;
    await service.release();
    await asked;
    await settle();
    expect(write.mock.calls.map(([, , ttl]: unknown[]) => ttl)).toEqual(life ? [life] : []);
  });

  it('of the invalidation of everything is a year', async () => {
    const { keyApi, write } = fleet();
    await keyApi.invalidate();
    expect(write.mock.calls).toEqual([[GENERATION, expect.any(String), YEAR, expect.any(Number)]]);
  });
});

describe('the size of an entry', () => {
  it.each([
    [0, 1],
    [1, 0],
  ])('is half a million characters at most: %i more', async (more, written) => {
    const { service, keyApi, write: kept } = fleet();
    const sized = (description: string) => ({ ...item, id: 7, description });
    // With a comma, as in a list.
    const around = JSON.stringify(sized('')).length + 1;
    service.item = sized('x'.repeat(LARGEST - around + more));
    await keyApi.getItem(7);
    await settle();
    expect(kept).toHaveBeenCalledTimes(written);
  });

  it('is not shared where an unknown field is nested too deeply for JSON, and answers all the same', async () => {
    const { service, keyApi, write: kept } = fleet();
    const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
    service.override = () => text(`{"item":{"id":7,"name":"x","media":{},"unknown":${deep}}}`);
    expect(await keyApi.getItem(7)).toMatchObject({ id: 7 });
    await settle();
    expect(kept).not.toHaveBeenCalled();
  });

  it('of a list too: no item more is written than shows that it is too long', async () => {
    const around = JSON.stringify({ id: 100, name: 'x', description: '', media: {} }).length;
    // Each is 1,023 characters of JSON and a comma: 512 of them are just as many as may be.
    const description = 'x'.repeat(1023 - around);
    const itemOf = (id: number) => ({ id, name: 'x', description, media: {} });
    const items = Array.from({ length: 600 }, (_, i) => itemOf(100 + i));
    const { service, keyApi, write: kept } = fleet();
    service.items = items.slice(0, 512);
    await keyApi.listItems();
    await settle();
    expect(kept).toHaveBeenCalledTimes(1);
    const body = json({ items });
    service.override = () => body;
    const write = vi.spyOn(JSON, 'stringify');
    await keyApi.listItems({ fresh: true });
    await settle();
    const written = write.mock.calls.filter(([value]) => (value as typeof item)?.name === 'x');
    write.mockRestore();
    expect(written).toHaveLength(513);
    expect(kept).toHaveBeenCalledTimes(1);
  });
});

it('the generation is read with the first call alone', async () => {
  const { shared, keyApi } = fleet();
  const read = vi.spyOn(shared, 'read');
  await keyApi.validatePurchase(CODE);
  await keyApi.validatePurchase(OTHER);
  expect(read.mock.calls.filter(([name]) => name === GENERATION)).toHaveLength(1);
});

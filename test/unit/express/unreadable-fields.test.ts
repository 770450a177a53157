import { loadPurchase, type RequirePurchaseOptions, requirePurchase } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { hear } from '../../support/hear.js';
import { KeyApiService } from '../../support/key-api-service.js';
import { json } from '../../support/service-in-memory.js';
import { CODE, purchase, success } from '../../support/wire.js';

interface Ended {
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly verdict: string | undefined;
  readonly purchase: object | undefined;
}

/** A guard in front of a service that sends this purchase, twice: asked for, and cached. */
async function guarded(
  sent: object,
  options: RequirePurchaseOptions,
  make: typeof requirePurchase | typeof loadPurchase = requirePurchase,
): Promise<Ended> {
  const service = new KeyApiService();
  service.override = () => json(success({ data: { purchase: sent } }));
  const guard = make(service.client(), { guessLimit: false, ...options });
  const pass = (): Promise<Ended> => {
    const req = { headers: { 'x-purchase-code': CODE }, ip: '10.0.0.1' };
    const res = fakeResponse();
    return new Promise((resolve) =>
      guard(req as never, res, (error?: unknown) => {
        const { code, status } = (error ?? {}) as { code?: string; status?: number };
        const { verdict, purchase } =
          (req as { marketplace?: { verdict?: string; purchase?: object } }).marketplace ?? {};
        resolve({ code, status, verdict, purchase });
      }),
    );
  };
  const first = await pass();
  expect(await pass()).toEqual(first);
  expect(service.asked()).toBe(1);
  return first;
}

const SUPPORTED = { supported: true };
const LICENSED = { licenseType: 'Regular' };

const UNREADABLE: readonly [field: string, sent: unknown, needs: RequirePurchaseOptions][] = [
  ...['never', 'Support until 2027', '2027-02-29T00:00:00Z', '31.12.2027', 1_830_297_600].map(
    (sent): [string, unknown, RequirePurchaseOptions] => ['supported_until', sent, SUPPORTED],
  ),
  ['supported_until', { date: '2030-01-01' }, SUPPORTED],
  ['license_type', { name: 'Regular' }, LICENSED],
  ['license_type', true, LICENSED],
];

describe('a guard whose condition needs a field that cannot be read', () => {
  it.each(UNREADABLE)('%s %j: lets nobody in, and refuses nobody', async (field, sent, needs) => {
    for (const onUnknown of ['deny', 'allow'] as const) {
      const { code, status } = await guarded(
        { ...purchase, [field]: sent },
        { ...needs, onUnknown },
      );
      expect([code, status]).toEqual(['unexpected_response', 502]);
    }
  });

  it.each(UNREADABLE)('%s %j: loadPurchase says that it is unknown', async (field, sent, needs) => {
    const loaded = await guarded({ ...purchase, [field]: sent }, needs, loadPurchase);
    expect(loaded).toMatchObject({ code: undefined, verdict: 'unknown', purchase: undefined });
  });

  it.each(UNREADABLE)('%s %j: the others let in, without it', async (field, sent, needs) => {
    const drift = hear('drift');
    const other = needs === SUPPORTED ? LICENSED : SUPPORTED;
    for (const options of [{}, { item: purchase.item.id }, other, { accept: () => true }]) {
      const { code, purchase: got } = await guarded({ ...purchase, [field]: sent }, options);
      expect(code).toBeUndefined();
      expect(got).toMatchObject({ purchase_code: CODE });
      expect(got).not.toHaveProperty(field);
    }
    expect(drift[0]).toMatchObject({ kind: 'dropped', path: `data.purchase.${field}` });
  });
});

describe('a guard for support or a licence', () => {
  const FIELDS = { price: '19,00', downloaded: 'yes', date: 'soon', currency: {} };

  it('lets in where only other fields cannot be read', async () => {
    const sent = { ...purchase, ...FIELDS, item: { ...purchase.item, tags: 5, media: 'x' } };
    expect((await guarded(sent, { ...SUPPORTED, ...LICENSED })).code).toBeUndefined();
  });

  it.each(['0000-00-00 00:00:00', '0000-00-00', '', null, undefined])(
    'takes %j for no support: that can be read',
    async (supported_until) => {
      const { code } = await guarded({ ...purchase, supported_until }, SUPPORTED);
      expect(code).toBe('support_expired');
    },
  );

  it('refuses a purchase of another item before it looks for what cannot be read', async () => {
    const sent = { ...purchase, supported_until: 'never' };
    const { code } = await guarded(sent, { ...SUPPORTED, item: 7 });
    expect(code).toBe('purchase_item_mismatch');
  });
});

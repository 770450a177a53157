import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  MarketgateError,
  type Purchase,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { purchase } from '../../support/wire.js';

/** What a guard says of one request, while somebody listens. */
async function heard(
  validatePurchase: () => Promise<Purchase | null>,
  options: RequirePurchaseOptions = {},
): Promise<unknown[]> {
  const messages: unknown[] = [];
  const listener = (message: unknown): void => void messages.push(message);
  subscribe('marketgate:guard', listener);
  onTestFinished(() => void unsubscribe('marketgate:guard', listener));
  const req = { headers: { 'x-purchase-code': purchase.purchase_code }, ip: '10.0.0.1' };
  await new Promise<unknown>((resolve) =>
    requirePurchase({ validatePurchase }, options)(req as never, fakeResponse(), resolve as never),
  );
  return messages;
}

const found = async () => purchase as Purchase;
const down = () => Promise.reject(new MarketgateError('service_unavailable', 'x'));

describe('marketgate:guard', () => {
  it.each<[string, Parameters<typeof heard>, object]>([
    ['who is let in', [found], { allowed: true }],
    ['a wrong code', [async () => null], { allowed: false, code: 'purchase_code_invalid' }],
    [
      'a code for another item',
      [found, { item: 7 }],
      { allowed: false, code: 'purchase_item_mismatch' },
    ],
    ['a service that is down', [down], { allowed: false, code: 'service_unavailable' }],
    [
      'a service that is down, where visitors are let in then',
      [down, { onUnknown: 'allow' }],
      { allowed: true, code: 'service_unavailable' },
    ],
    [
      'a refusal that the app’s own onDenied overrules: the guard had refused',
      [async () => null, { onDenied: (_denial, _req, _res, next) => next() }],
      { allowed: false, code: 'purchase_code_invalid' },
    ],
  ])('tells of %s', async (_name, parts, message) => {
    expect(await heard(...parts)).toStrictEqual([message]);
  });

  it('does not tell of an error of the app’s own, which is no decision', async () => {
    const accept = () => Promise.reject(new Error('mine'));
    expect(await heard(found, { accept })).toEqual([]);
  });
});

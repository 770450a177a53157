import type { NextFunction, Request } from 'express';
import { MarketgateError, requirePurchase } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { openShop, VALIDATION } from '../../support/shop.js';

describe('a code that the cache knows', () => {
  async function turn(kind: 'supported' | 'refunded') {
    const shop = await openShop();
    const code = shop.code(kind);
    await shop.keyApi.validatePurchase(code);
    const guard = requirePurchase(shop.keyApi, { item: 1042, supported: true });
    const calls: unknown[][] = [];
    const req = { headers: { 'x-purchase-code': code } } as unknown as Request;
    const res = fakeResponse();
    guard(req, res, ((...args: unknown[]) => void calls.push(args)) as NextFunction);
    // A copy, because the caller waits for this function.
    return { calls: [...calls], req, shop };
  }

  it('is let in in the same turn: nothing is awaited', async () => {
    const { calls, req } = await turn('supported');
    expect(calls).toEqual([[]]);
    expect(req.marketplace?.verdict).toBe('valid');
  });

  it('is refused in the same turn', async () => {
    const { calls, shop } = await turn('refunded');
    expect(calls).toEqual([[expect.objectContaining({ code: 'purchase_code_invalid' })]]);
    expect(shop.asked(VALIDATION)).toBe(1);
  });
});

it('guesses in bursts from one address stop after the limit, and a customer is still let in', async () => {
  const shop = await openShop();
  const guard = requirePurchase(shop.keyApi);
  const ask = (code: string) =>
    new Promise<unknown>((resolve) => {
      const req = { headers: { 'x-purchase-code': code }, ip: '203.0.113.9' };
      guard(req as unknown as Request, fakeResponse(), resolve);
    });
  expect(await ask(shop.code('supported'))).toBeUndefined();
  const before = shop.asked(VALIDATION);
  for (let burst = 0; burst < 10; burst++) {
    const guesses = Array.from({ length: 30 }, (_, i) => ask(`guess-${burst}-${i}-0123456789`));
    for (const error of await Promise.all(guesses)) expect(error).toBeInstanceOf(MarketgateError);
  }
  expect(shop.asked(VALIDATION) - before).toBe(10);
  expect(await ask(shop.code('supported'))).toBeUndefined();
  expect(shop.asked(VALIDATION) - before).toBe(10);
});

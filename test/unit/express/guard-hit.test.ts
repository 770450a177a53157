import type { NextFunction, Request, Response } from 'express';
import { requirePurchase } from 'marketgate';
import request from 'supertest';
import { describe, expect, it } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { listen } from '../../support/listen.js';
import { openShop, VALIDATION } from '../../support/shop.js';

describe('a code that the cache knows', () => {
  async function turn(kind: 'supported' | 'refunded') {
    const shop = await openShop();
    const code = shop.code(kind);
    await shop.keyApi.validatePurchase(code);
    const guard = requirePurchase(shop.keyApi, { item: 1042, supported: true });
    const calls: unknown[][] = [];
    const req = { headers: { 'x-purchase-code': code } } as unknown as Request;
    const res = { locals: {} } as Response;
    guard(req, res, ((...args: unknown[]) => void calls.push(args)) as NextFunction);
    return { calls, req, shop };
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

describe.each(expressVersions)('a cold code on %s', (_version, express) => {
  it('that 1,000 ask for at once makes one call, and one who hangs up harms nobody', async () => {
    const shop = await openShop();
    shop.sandbox.faults.latency = 300;
    const app = express();
    app.get('/', requirePurchase(shop.keyApi), (_req, res) => void res.json({ ok: true }));
    const origin = await listen(app);
    const code = shop.code('supported');
    const leaving = new AbortController();
    const ask = (signal?: AbortSignal) =>
      fetch(origin, { headers: { 'x-purchase-code': code }, ...(signal && { signal }) });
    const first = ask(leaving.signal);
    const others = Array.from({ length: 999 }, () => ask().then(({ status }) => status));
    leaving.abort();
    await expect(first).rejects.toThrow(/abort/i);
    expect(new Set(await Promise.all(others))).toEqual(new Set([200]));
    expect(shop.asked(VALIDATION)).toBe(1);
  });

  it('10,000 guesses from one address stop after the limit, and a customer is still let in', async () => {
    const shop = await openShop();
    const app = express();
    app.set('trust proxy', true);
    app.get('/', requirePurchase(shop.keyApi), (_req, res) => void res.json({ ok: true }));
    app.use((error: { status: number }, _req: unknown, res: Response, _next: unknown) => {
      res.status(error.status).end();
    });
    const origin = await listen(app);
    await request(origin).get('/').set('x-purchase-code', shop.code('supported')).expect(200);
    const before = shop.asked(VALIDATION);
    for (let i = 0; i < 100; i++) {
      await Promise.all(
        Array.from({ length: 100 }, (_, j) =>
          fetch(origin, {
            headers: {
              'x-purchase-code': `guess-${i}-${j}-${Math.random().toString(36).slice(2)}`,
              'x-forwarded-for': '203.0.113.9',
            },
          }).then((response) => response.arrayBuffer()),
        ),
      );
    }
    expect(shop.asked(VALIDATION) - before).toBe(10);
    await request(origin).get('/').set('x-purchase-code', shop.code('supported')).expect(200);
    expect(shop.asked(VALIDATION) - before).toBe(10);
  }, 60_000);
});

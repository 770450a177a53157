import express from 'express';
import {
  errorHandler,
  type GuessLimit,
  KeyApi,
  loadPurchase,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { clientName } from '../../../src/stores/guess-limit/client-name.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { openShop, type Shop, VALIDATION } from '../../support/shop.js';

const guess = (i: number): string => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

describe('who is counted together', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2ff::1', '20010db8000102/56'],
    ['2001:db8:1:200:ffff::9', '20010db8000102/56'],
    ['2001:db8:1:300::1', '20010db8000103/56'],
    ['customer-7', 'customer-7'],
    ['012', '012'],
    ['0xa', '0xa'],
    ['', 'unknown'],
    [undefined, 'unknown'],
    [7, '7'],
  ])('%j is %j', (client, name) => {
    expect(clientName(client)).toBe(name);
  });

  it.each([[null], [Promise.resolve('anna')], [{}], [true]])('%j is no name', (client) => {
    expect(() => clientName(client)).toThrow('"keyGenerator" must return a string');
  });
});

describe('guesses', () => {
  async function open(options: RequirePurchaseOptions = {}, shopOptions: object = {}) {
    const shop = await openShop(shopOptions);
    const app = express();
    app.set('trust proxy', 1);
    app.get('/', requirePurchase(shop.keyApi, options), (_req, res) => void res.json({ ok: true }));
    app.use(errorHandler());
    const ask = (code: string, from = '10.0.0.1') =>
      request(app).get('/').set('x-purchase-code', code).set('x-forwarded-for', from);
    return { ...shop, app, ask };
  }
  const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status);

  it('over the limit are 429 with Retry-After, without a call', async () => {
    const { ask, asked } = await open({ guessLimit: { limit: 3, windowMs: 60_000 } });
    const answers = [];
    for (let i = 0; i < 6; i++) answers.push(await ask(guess(i)));
    expect(statuses(answers)).toEqual([403, 403, 403, 429, 429, 429]);
    expect(answers[5]?.body.code).toBe('too_many_attempts');
    expect(Number(answers[5]?.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(answers[5]?.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect(asked(VALIDATION)).toBe(3);
  });

  it('many at once do not get through together', async () => {
    const { ask, asked } = await open();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(guess(i))));
    expect(statuses(answers).filter((status) => status === 403)).toHaveLength(10);
    expect(statuses(answers).filter((status) => status === 429)).toHaveLength(10);
    expect(asked(VALIDATION)).toBe(10);
  });

  it('of one guesser are nobody else’s, but an IPv6 subnet is one guesser', async () => {
    const { ask } = await open({ guessLimit: { limit: 1 } });
    await ask(guess(1), '2001:db8:1:200::1').expect(403);
    await ask(guess(2), '2001:db8:1:2aa::ffff').expect(429);
    await ask(guess(2), '2001:db8:2::1').expect(403);
    await ask(guess(3), '10.0.0.2').expect(403);
  });

  it('repeats of one wrong code count once', async () => {
    const { ask } = await open({ guessLimit: { limit: 2 } });
    for (let i = 0; i < 8; i++) await ask(guess(1)).expect(403);
    await ask(guess(2)).expect(403);
    await ask(guess(3)).expect(429);
  });

  it('outages do not count', async () => {
    const { ask, sandbox } = await open({ guessLimit: { limit: 2 } });
    sandbox.faults.html = true;
    for (let i = 0; i < 5; i++) await ask(guess(i)).expect(502);
    sandbox.faults.html = false;
    await ask(guess(9)).expect(403);
  });

  it('valid codes do not count, also when they belong to another item', async () => {
    const { ask, code } = await open({ item: 1042, guessLimit: { limit: 1 } }, { cache: false });
    for (let i = 0; i < 4; i++) {
      await ask(code('supported')).expect(200);
      await ask(code('other-item')).expect(403);
    }
    await ask(guess(1)).expect(403);
    await ask(guess(2)).expect(429);
  });

  it('a customer behind the same address is still answered from the cache', async () => {
    const { ask, code, asked } = await open({ guessLimit: { limit: 2 } });
    await ask(code('supported')).expect(200);
    for (let i = 0; i < 5; i++) await ask(guess(i));
    await ask(code('supported')).expect(200);
    expect(asked(VALIDATION)).toBe(3);
  });

  it('a burst of customers behind one address waits instead of being refused', async () => {
    const { sandbox, ask } = await open({ guessLimit: { limit: 2 } });
    const codes = sandbox.codes.filter(({ kind }) =>
      ['supported', 'extended', 'unsupported', 'support-over', 'other-item'].includes(kind),
    );
    const answers = await Promise.all(codes.map(({ code }) => ask(code)));
    expect(codes.length).toBeGreaterThan(3);
    expect(statuses(answers)).toEqual(codes.map(() => 200));
  });

  it('what another process has asked is counted there', async () => {
    const shared = new MemorySharedCache();
    const first = await openShop({ cache: { shared } });
    const { baseUrl, apiKey } = { baseUrl: first.baseUrl, apiKey: first.apiKey };
    const other = new KeyApi({ baseUrl, apiKey, clock: first.sandbox.clock, cache: { shared } });
    onTestFinished(() => other.close());
    for (const code of [guess(1), guess(2)]) await other.validatePurchase(code);
    await vi.waitFor(() => expect(shared.rows.size).toBe(2));
    const app = express();
    app.get(
      '/',
      requirePurchase(first.keyApi, { guessLimit: { limit: 1 } }),
      (_req, res) => void res.end(),
    );
    app.use(errorHandler());
    const ask = (code: string) => request(app).get('/').set('x-purchase-code', code);
    await ask(guess(1)).expect(403);
    await ask(guess(2)).expect(403);
    await ask(guess(3)).expect(403);
    await ask(guess(4)).expect(429);
  });

  it('by a name that is none is an error of the app, and lets nobody in', async () => {
    const keyGenerator = (async () => 'anna') as never;
    const { app, ask, asked, code } = await open({ guessLimit: { keyGenerator } });
    const errors: unknown[] = [];
    app.use(
      (error: unknown, _req: unknown, res: { sendStatus(status: number): void }, _n: unknown) => {
        errors.push(error);
        res.sendStatus(500);
      },
    );
    await ask(code('supported')).expect(500);
    expect(String(errors)).toContain('"keyGenerator" must return a string');
    expect(asked(VALIDATION)).toBe(0);
  });

  it('can be turned off', async () => {
    const { ask } = await open({ guessLimit: false });
    for (let i = 0; i < 15; i++) await ask(guess(i)).expect(403);
  });

  it('count no more when the window is over', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_900_000_000_000 });
    try {
      const { ask } = await open({ guessLimit: { limit: 1, windowMs: 60_000 } });
      await ask(guess(1)).expect(403);
      await ask(guess(2)).expect(429);
      vi.setSystemTime(1_900_000_061_000);
      await ask(guess(2)).expect(403);
    } finally {
      vi.useRealTimers();
    }
  });

  it('are counted by what the app says', async () => {
    const { ask } = await open({
      guessLimit: {
        limit: 1,
        keyGenerator: (req) => String(req.headers['x-forwarded-for']).slice(0, 4),
      },
    });
    await ask(guess(1), '10.1.0.1').expect(403);
    await ask(guess(2), '10.1.0.2').expect(429);
    await ask(guess(2), '10.2.0.2').expect(403);
  });

  it('a counter of the app’s own that fails refuses no customer', async () => {
    const broken: GuessLimit = {
      keyGenerator: () => 'x',
      reserve: async () => Promise.reject(new Error('down')),
    };
    const { ask, code } = await open({ guessLimit: broken });
    await ask(code('supported')).expect(200);
    await ask(guess(1)).expect(403);
  });

  it('onDenied hears of them, and onUnknown "allow" does not let them in', async () => {
    const { ask } = await open({
      guessLimit: { limit: 1 },
      onUnknown: 'allow',
      onDenied: (denial, _req, res) => res.status(denial.status).json({ own: denial.code }),
    });
    await ask(guess(1)).expect(403);
    expect((await ask(guess(2)).expect(429)).body).toEqual({ own: 'too_many_attempts' });
  });

  describe('loadPurchase', () => {
    async function load(
      prepare: (shop: Shop) => unknown,
      code: (shop: Shop) => string | undefined,
    ) {
      const shop = await openShop();
      await prepare(shop);
      const app = express();
      app.use(loadPurchase(shop.keyApi, { item: 1042, guessLimit: { limit: 1 } }));
      app.use((req, res) => void res.json(req.marketplace));
      const asked = request(app).get('/');
      const sent = code(shop);
      return (await (sent ? asked.set('x-purchase-code', sent) : asked).expect(200)).body;
    }
    const nothing = (): void => {};

    it('says valid, with the purchase', async () => {
      expect(await load(nothing, (shop) => shop.code('supported'))).toMatchObject({
        verdict: 'valid',
        purchase: { item: { id: 1042 } },
      });
    });

    it.each<[string, (shop: Shop) => unknown, (shop: Shop) => string | undefined]>([
      ['absent', nothing, () => undefined],
      ['absent', nothing, () => ' '],
      ['invalid', nothing, () => guess(1)],
      ['invalid', nothing, () => 'x y z'],
      ['invalid', nothing, (shop) => shop.code('other-item')],
      ['unknown', (shop) => shop.sandbox.close(), (shop) => shop.code('supported')],
    ])('says %s, and blocks nobody', async (verdict, prepare, code) => {
      expect(await load(prepare, code)).toEqual({ verdict });
    });

    it('says unknown of who guessed too often', async () => {
      const shop = await openShop();
      const app = express();
      app.use(loadPurchase(shop.keyApi, { guessLimit: { limit: 1 } }));
      app.use((req, res) => void res.json(req.marketplace));
      await request(app).get('/').set('x-purchase-code', guess(1));
      const answer = await request(app).get('/').set('x-purchase-code', guess(2)).expect(200);
      expect(answer.body).toEqual({ verdict: 'unknown' });
    });

    it('passes on an error of the app’s own', async () => {
      const shop = await openShop();
      const app = express();
      app.use(
        loadPurchase(shop.keyApi, {
          code: () => {
            throw new Error('mine');
          },
        }),
      );
      const seen = vi.fn();
      app.use((error: unknown, _req: unknown, res: { end(): void }, _next: unknown) => {
        seen(error);
        res.end();
      });
      await request(app).get('/');
      expect(String(seen.mock.lastCall)).toBe('Error: mine');
    });
  });
});

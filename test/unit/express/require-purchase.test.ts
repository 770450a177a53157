import express5, { type Express } from 'express';
import {
  errorHandler,
  firstOf,
  fromBody,
  fromHeader,
  fromParams,
  fromQuery,
  fromSession,
  loadItem,
  type Purchase,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { countEndings, type Endings, openShop, type Shop, VALIDATION } from '../../support/shop.js';

const HEADER = 'x-purchase-code';
interface Open extends Shop {
  readonly app: Express;
  readonly endings: Endings;
}

async function open(
  options: RequirePurchaseOptions = {},
  express = express5,
  opened?: Shop,
): Promise<Open> {
  const shop = opened ?? (await openShop());
  const app = express();
  app.use(express.json(), express.urlencoded({ extended: true }));
  app.use('/guarded/:id', requirePurchase(shop.keyApi, options));
  const endings = countEndings(app);
  app.use(errorHandler());
  return { ...shop, app, endings };
}
const ask = (app: Express, code?: string, path = '/guarded/1042') => {
  const asked = request(app).get(path);
  return code === undefined ? asked : asked.set(HEADER, code);
};

describe.each(expressVersions)('requirePurchase on %s', (_version, express) => {
  it('lets a customer in, with the purchase at req.marketplace and in the locals', async () => {
    const { app, code, endings } = await open({ item: 1042 }, express);
    const answer = await ask(app, code('supported')).expect(200);
    expect(answer.body.marketplace).toMatchObject({
      verdict: 'valid',
      purchase: { purchase_code: code('supported'), item: { id: 1042 } },
    });
    expect(answer.body.locals).toEqual(answer.body.marketplace);
    expect(endings).toEqual({ errors: [], handled: 1 });
  });

  it('takes the code from the body of a form', async () => {
    const { app, code } = await open({}, express);
    await request(app)
      .post('/guarded/1')
      .type('form')
      .send({ purchase_code: code('supported') })
      .expect(200);
  });

  describe('a code', () => {
    it.each<[string, unknown]>([
      ['a list', ['a', 'b']],
      ['an object', { a: 1 }],
      ['a number', 12345678],
    ])('of %s in the body is "invalid", without a call', async (_name, purchase_code) => {
      const { app, asked } = await open({}, express);
      const answer = await request(app).post('/guarded/1').send({ purchase_code }).expect(403);
      expect(answer.body.code).toBe('purchase_code_invalid');
      expect(asked(VALIDATION)).toBe(0);
    });

    it('does not read the query unless it is told to', async () => {
      const { app, code } = await open({}, express);
      await ask(app, undefined, `/guarded/1?purchase_code=${code('supported')}`).expect(402);
    });
  });

  it('gives what res.render can write into', async () => {
    const { keyApi, code } = await openShop();
    const app = express();
    app.engine('txt', (_path: string, options: object, done: (e: null, text: string) => void) =>
      done(null, Object.keys(options).join()),
    );
    app.set('views', new URL('.', import.meta.url).pathname);
    app.get('/', requirePurchase(keyApi), (req, res) => {
      res.render('page.txt', req.marketplace?.purchase);
    });
    app.get('/:id', loadItem(keyApi), (req, res) => res.render('page.txt', req.marketplace?.item));
    const answer = await request(app).get('/').set(HEADER, code('supported')).expect(200);
    expect(answer.text).toContain('purchase_code');
    expect((await request(app).get('/1042').expect(200)).text).toContain('name');
  });

  it('says when to come back also without an error handler', async () => {
    const { keyApi, sandbox, code } = await openShop();
    sandbox.faults.rateLimit = 17;
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const app = express().get('/', requirePurchase(keyApi));
    const answer = await request(app).get('/').set(HEADER, code('supported')).expect(503);
    log.mockRestore();
    expect(answer.headers['retry-after']).toBe('17');
  });

  describe('sources', () => {
    it.each<[string, RequirePurchaseOptions['code'], (code: string) => [string, string?]]>([
      ['fromQuery', fromQuery('c'), (code) => [`/guarded/1?c=${code}`]],
      ['fromParams', fromParams('id'), (code) => [`/guarded/${code}`]],
      [
        'firstOf',
        firstOf(fromHeader('x-other'), fromQuery()),
        (code) => [`/guarded/1?purchase_code=${code}`],
      ],
      [
        'a function',
        async (req) => req.headers.authorization?.slice(5),
        (code) => ['/guarded/1', `Code ${code}`],
      ],
    ])('%s', async (_name, source, build) => {
      const { app, code } = await open({ code: source }, express);
      const [path, authorization] = build(code('supported'));
      const asked = request(app).get(path);
      await (authorization ? asked.set('authorization', authorization) : asked).expect(200);
    });

    it('fromSession', async () => {
      const shop = await openShop();
      const app = express();
      app.use((req, _res, next) => {
        Object.assign(req, { session: { purchase_code: shop.code('supported') } });
        next();
      });
      app.get(
        '/',
        requirePurchase(shop.keyApi, { code: fromSession() }),
        (_req, res) => void res.end(),
      );
      await request(app).get('/').expect(200);
    });

    it('a source finds own fields only, not what every object has', async () => {
      const { app } = await open({ code: fromBody('constructor') }, express);
      await request(app).post('/guarded/1').send({}).expect(402);
    });

    const fail = (): never => {
      throw new Error('mine');
    };
    const reject = async () => fail();
    it.each<[string, RequirePurchaseOptions]>([
      ['code', { code: fail }],
      ['code, async', { code: reject }],
      ['item', { item: fail }],
      ['accept', { accept: fail }],
      ['accept, async', { accept: reject }],
      ['onDenied', { licenseType: 'Extended', onDenied: fail }],
      ['onDenied, async', { licenseType: 'Extended', onDenied: reject }],
    ])("an error of the app's own %s reaches next, once", async (_name, options) => {
      const { app, code, endings } = await open({ ...options, onUnknown: 'allow' }, express);
      const log = vi.spyOn(console, 'error').mockImplementation(() => {});
      await ask(app, code('supported')).expect(500);
      log.mockRestore();
      expect(endings.errors.map(String)).toEqual(['Error: mine']);
      expect(endings.handled).toBe(0);
    });
  });
});

describe('requirePurchase', () => {
  it('takes a code as it was pasted', async () => {
    const { app, code } = await open();
    const pasted = ` \u200b${code('supported').toUpperCase().toLowerCase()}\u00a0\n`;
    await request(app).post('/guarded/1').send({ purchase_code: pasted }).expect(200);
  });

  describe('refuses', () => {
    const WRONG = '00000000-0000-4000-8000-000000000000';
    const byRoute: RequirePurchaseOptions = { item: (req) => Number(req.params.id) };
    it.each<[string, RequirePurchaseOptions, string | undefined, number, string]>([
      ['no code', {}, undefined, 402, 'purchase_required'],
      ['a blank code', {}, '  ', 402, 'purchase_required'],
      ['a wrong code', {}, WRONG, 403, 'purchase_code_invalid'],
      ['no code at all by its shape', {}, 'x y z', 403, 'purchase_code_invalid'],
      ['a refunded purchase', {}, 'refunded', 403, 'purchase_code_invalid'],
      ['a cancelled purchase', {}, 'cancelled', 403, 'purchase_code_invalid'],
      ["another author's code", {}, 'other-workspace', 403, 'purchase_code_invalid'],
      ['another item', { item: 1042 }, 'other-item', 403, 'purchase_item_mismatch'],
      ['none of the items', { item: [1042, 9] }, 'other-item', 403, 'purchase_item_mismatch'],
      ['an item unlike the route’s', byRoute, 'other-item', 403, 'purchase_item_mismatch'],
      ['no item named', { item: () => [] }, 'supported', 403, 'purchase_item_mismatch'],
      ['an item that is none', { item: () => Number('x') }, 'supported', 400, 'item_id_invalid'],
      ['nothing', { item: () => undefined as never }, 'supported', 400, 'item_id_invalid'],
      ['another licence', { licenseType: 'Extended' }, 'supported', 403, 'license_type_mismatch'],
      ['support that is over', { supported: true }, 'support-over', 403, 'support_expired'],
      ['support never bought', { supported: true }, 'unsupported', 403, 'support_expired'],
      ['by the app', { accept: () => false }, 'supported', 403, 'purchase_not_accepted'],
      ['later', { accept: async () => false }, 'supported', 403, 'purchase_not_accepted'],
    ])('%s', async (_name, options, kindOrCode, status, expected) => {
      const shop = await open(options);
      const isKind = shop.sandbox.codes.some(({ kind }) => kind === kindOrCode);
      const code = isKind ? shop.code(kindOrCode as Parameters<Shop['code']>[0]) : kindOrCode;
      const answer = await ask(shop.app, code).expect(status);
      expect(answer.type).toBe('application/problem+json');
      expect(answer.body).toMatchObject({ code: expected, status });
      expect(JSON.stringify(answer.body)).not.toContain(code ?? 'no code');
      expect(shop.endings).toEqual({
        errors: [expect.objectContaining({ code: expected, status })],
        handled: 0,
      });
    });

    it('of what cannot be a code costs no call', async () => {
      const { app, asked } = await open();
      for (const code of ['short', 'x'.repeat(200), 'späces-are-bad', '"><script>']) {
        await request(app).post('/guarded/1').send({ purchase_code: code }).expect(403);
      }
      expect(asked(VALIDATION)).toBe(0);
    });
  });

  describe('conditions that are met', () => {
    it.each<[string, RequirePurchaseOptions, Parameters<Shop['code']>[0]]>([
      ['one of the items', { item: [7, 1042] }, 'supported'],
      ["the route's item", { item: (req) => Number(req.params.id) }, 'supported'],
      ['the licence', { licenseType: ['Extended', 'Regular'] }, 'supported'],
      ['support', { supported: true }, 'supported'],
      ['the app accepts', { accept: async ({ price }: Purchase) => price > 0 }, 'supported'],
      ['an item that was deleted from the catalogue', {}, 'deleted-item'],
    ])('%s', async (_name, options, kind) => {
      const { app, code } = await open(options);
      await ask(app, code(kind)).expect(200);
    });

    it('support is compared with the present', async () => {
      const { app, code, sandbox } = await open({ supported: true });
      sandbox.dialect.supportedUntilPast = true;
      await ask(app, code('supported')).expect(200);
      sandbox.clock.advance(20 * 365 * 86_400_000);
      await ask(app, code('supported')).expect(403);
    });
  });

  describe('onDenied', () => {
    it('answers in place of next', async () => {
      const { app, endings } = await open({
        onDenied: (denial, _req, res) => res.status(418).json({ own: denial.code }),
      });
      const answer = await ask(app).expect(418);
      expect(answer.body).toEqual({ own: 'purchase_required' });
      expect(endings).toEqual({ errors: [], handled: 0 });
    });

    it('can let the visitor on, and is not called twice when it fails afterwards', async () => {
      const { app, endings } = await open({
        onDenied: async (_denial, _req, _res, next) => {
          next();
          throw new Error('too late');
        },
      });
      await ask(app).expect(200);
      expect(endings).toEqual({ errors: [], handled: 1 });
    });

    it('is not called when the service cannot be asked', async () => {
      const onDenied = vi.fn();
      const shop = await open({ onDenied });
      await shop.sandbox.close();
      await ask(shop.app, shop.code('supported')).expect(503);
      expect(onDenied).not.toHaveBeenCalled();
    });
  });

  describe('when the service cannot be asked', () => {
    const fault = (faults: object) => (shop: Shop) => Object.assign(shop.sandbox.faults, faults);
    const disable = ({ sandbox }: Shop) => Object.assign(sandbox.dialect, { apiDisabled: true });
    const breaks: [string, (shop: Shop) => unknown, number, string][] = [
      ['stopped', (shop) => shop.sandbox.close(), 503, 'service_unavailable'],
      ['failing', fault({ errorRate: 1 }), 503, 'service_unavailable'],
      ['an HTML page', fault({ html: true }), 502, 'unexpected_response'],
      ['cut in the middle', fault({ reset: true }), 503, 'service_unavailable'],
      ['limiting', fault({ rateLimit: true }), 503, 'service_unavailable'],
      ['switched off', disable, 502, 'unexpected_response'],
    ];
    it.each(breaks)('%s: an error, never "invalid"', async (_name, breakIt, status, expected) => {
      const shop = await open();
      await breakIt(shop);
      const answer = await ask(shop.app, shop.code('supported')).expect(status);
      expect(answer.body.code).toBe(expected);
      expect(answer.text).not.toMatch(/invalid|not valid/i);
      expect(shop.endings.handled).toBe(0);
    });

    it.each(breaks)(
      '%s, with onUnknown "allow": in, without a purchase',
      async (_name, breakIt) => {
        const shop = await open({ onUnknown: 'allow', item: 1042, supported: true });
        await breakIt(shop);
        const answer = await ask(shop.app, shop.code('supported')).expect(200);
        expect(answer.body.marketplace).toEqual({ verdict: 'unknown' });
      },
    );

    it('onUnknown "allow" lets in neither who has no code nor who has a wrong one', async () => {
      const shop = await open({ onUnknown: 'allow' });
      await ask(shop.app).expect(402);
      await ask(shop.app, 'wrong-code-000').expect(403);
    });

    it('a key that the service does not know is a fault of the site', async () => {
      const shop = await openShop({ apiKey: 'f'.repeat(64) });
      const { app } = await open({}, express5, shop);
      const answer = await ask(app, shop.code('supported')).expect(500);
      expect(answer.body.code).toBe('api_key_rejected');
      expect(answer.text).not.toContain('ffffffff');
    });
  });
});

import {
  type CodeSource,
  type ErrorHandlerOptions,
  errorHandler,
  fromParams,
  MarketgateError,
  type MarketgateErrorCode,
  problemOf,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { ERROR_CODES } from '../../../src/errors.js';
import { expressVersions } from '../../support/express-versions.js';
import { CODE } from '../../support/wire.js';

/** Section 5 of the contract, and the denials of section 4. */
const STATUSES: Record<MarketgateErrorCode, number> = {
  purchase_required: 402,
  purchase_code_invalid: 403,
  purchase_item_mismatch: 403,
  license_type_mismatch: 403,
  support_expired: 403,
  purchase_not_accepted: 403,
  purchase_held: 403,
  too_many_attempts: 429,
  item_not_found: 404,
  item_id_invalid: 400,
  login_required: 401,
  access_token_expired: 401,
  service_unavailable: 503,
  unexpected_response: 502,
  service_refused: 502,
  api_key_rejected: 500,
  app_credentials_rejected: 500,
  auth_key_rejected: 401,
  login_failed: 401,
  store_unavailable: 503,
};
const codes = Object.entries(STATUSES) as [MarketgateErrorCode, number][];
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

it('the table holds no other code', () => {
  expect(Object.keys(ERROR_CODES).sort()).toEqual(Object.keys(STATUSES).sort());
});

it('problemOf says what the error has for visitors', () => {
  const error = new MarketgateError('login_failed', 'for the operator', {
    detail: 'Allow cookies.',
  });
  expect(problemOf(error)).toMatchObject({ detail: 'Allow cookies.', code: 'login_failed' });
  expect(Object.keys(error)).not.toContain('detail');
});

it('problemOf an error of somebody else is none', () => {
  for (const error of [new Error('mine'), { code: 'login_required' }, undefined]) {
    expect(problemOf(error)).toBeUndefined();
  }
});

describe.each(expressVersions)('errorHandler on %s', (_version, express) => {
  function appThat(error: unknown, options?: ErrorHandlerOptions) {
    const app = express();
    app.all('/', (_req, _res, next) => next(error));
    app.get('/begun', (_req, res, next) => {
      res.write('begun');
      next(error);
    });
    app.use(errorHandler({ log: false, ...options }));
    return app;
  }

  it.each(codes)('%s is %d, as a problem and as a page', async (code, status) => {
    const app = appThat(new MarketgateError(code, 'for the operator only'));
    const problem = await request(app).get('/').expect(status);
    expect(problem.type).toBe('application/problem+json');
    expect(problem.body).toEqual({
      type: `urn:marketgate:error:${code}`,
      title: expect.any(String),
      status,
      detail: expect.any(String),
      code,
    });
    const page = await request(app).get('/').set('accept', BROWSER).expect(status);
    expect(page.type).toBe('text/html');
    expect(page.text).toContain(code);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    for (const answer of [problem, page]) {
      expect(answer.text).not.toContain('operator');
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      expect(answer.headers.vary).toMatch(/accept/i);
    }
  });

  it.each<[string, ErrorHandlerOptions, string, string]>([
    ['a problem', {}, 'application/json', 'application/problem+json'],
    ['a page', {}, BROWSER, 'text/html'],
    ['a page of the app', { render: (_p, _req, res) => res.send('<h1>') }, BROWSER, 'text/html'],
    ['JSON of the app', { render: (_p, _req, res) => res.json({}) }, BROWSER, 'application/json'],
  ])(
    'responds with %s as what it is, whatever the route began',
    async (_what, options, accept, type) => {
      const app = express();
      app.get('/', (_req, res, next) => {
        res.type('zip').set('Content-Range', 'bytes 0-9/10');
        next(new MarketgateError('service_unavailable', 'x'));
      });
      app.use(errorHandler({ log: false, ...options }));
      const answer = await request(app).get('/').set('accept', accept);
      expect([answer.status, answer.type]).toEqual([503, type]);
      expect(answer.headers['content-range']).toBeUndefined();
    },
  );

  it('says when to come back', async () => {
    const error = new MarketgateError('service_unavailable', 'x', { retryAfter: 12.2 });
    const answer = await request(appThat(error)).get('/');
    expect(answer.headers['retry-after']).toBe('13');
    expect(answer.body.retryAfter).toBe(13);
  });

  it.each(codes)('%s is logged in one line where it is 500 or more', async (code, status) => {
    const log = vi.fn();
    const error = new MarketgateError(code, 'for the operator only');
    await request(appThat(error, { log })).get('/').expect(status);
    expect(log.mock.calls).toEqual(
      status >= 500
        ? [
            [
              `marketgate: GET / ${status} ${code}: for the operator only (npx marketgate explain ${code})`,
            ],
          ]
        : [],
    );
  });

  it('logs the method and the path of an outage without its query, by console.error unless told otherwise', async () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {});
    const error = new MarketgateError('service_unavailable', 'first\nsecond');
    const app = express().use('/files', appThat(error, { log: undefined }));
    await request(app).post('/files/?auth_key=k1').expect(503);
    expect(print.mock.calls).toEqual([
      [
        'marketgate: POST /files/ 503 service_unavailable: first second (npx marketgate explain service_unavailable)',
      ],
    ]);
    await request(appThat(error, { log: false }))
      .get('/')
      .expect(503);
    expect(print).toHaveBeenCalledTimes(1);
  });

  it.each<[string, string, string, CodeSource]>([
    ['a route parameter', 'SHORT-12', 'SHORT-12', fromParams('code')],
    ['an escaped route parameter', 'SHORT-12', '%53HORT%2D12', fromParams('code')],
    ['a function of the app', 'SHORT-12', 'SHORT-12', (req) => req.params.code],
    ['nothing that ran before', CODE, CODE, () => CODE],
  ])('logs no purchase code that is in the path: from %s', async (_from, code, inPath, source) => {
    const log = vi.fn();
    const validatePurchase = async (): Promise<never> => {
      throw new MarketgateError('service_unavailable', 'down');
    };
    const app = express();
    app.get('/files/:code', requirePurchase({ validatePurchase }, { code: source }));
    app.use(errorHandler({ log }));
    await request(app).get(`/files/${inPath}`).expect(503);
    expect(log.mock.calls.join()).toMatch(/GET \/files\/\[redacted\] 503/);
    expect(decodeURIComponent(log.mock.calls.join())).not.toContain(code);
  });

  const raise = (): never => {
    throw new Error('template');
  };
  const FAILING: [string, () => unknown][] = [
    ['throws', raise],
    ['rejects', async () => raise()],
  ];

  it.each(FAILING)('is printed where the log of the app %s', async (_name, log) => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {});
    const error = new MarketgateError('service_unavailable', 'the operator reads this');
    await request(appThat(error, { log })).get('/').expect(503);
    expect(print).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('the operator reads this'),
    );
  });

  it('ends no process where console.error throws', async () => {
    vi.spyOn(console, 'error').mockImplementation(raise);
    const error = new MarketgateError('service_unavailable', 'x');
    await request(appThat(error, { log: undefined }))
      .get('/')
      .expect(503);
  });

  describe('render', () => {
    const error = new MarketgateError('too_many_attempts', 'x', { retryAfter: 3 });

    it('is the page of the app, for visitors who prefer one', async () => {
      const app = appThat(error, {
        render: (problem, req, res) => void res.send(`<h1>${req.path} ${problem.code}</h1>`),
      });
      const page = await request(app).get('/').set('accept', BROWSER).expect(429);
      expect(page.text).toBe('<h1>/ too_many_attempts</h1>');
      expect(page.type).toBe('text/html');
      expect(page.headers).toMatchObject({ 'retry-after': '3', 'cache-control': 'no-store' });
      const problem = await request(app).get('/').expect(429);
      expect(problem.body).toEqual(problemOf(error));
    });

    it.each(FAILING)('that %s passes its own error on', async (_name, render) => {
      const app = appThat(error, { render });
      const failed = vi.fn();
      app.use((failure: unknown, _req: object, res: { end(): void }, _next: object) => {
        failed(failure);
        res.end();
      });
      await request(app).get('/').set('accept', BROWSER);
      expect(failed).toHaveBeenCalledExactlyOnceWith(new Error('template'));
    });
  });

  it.each(['login_required', 'access_token_expired'] as const)(
    '%s sends a browser to the login, and tells everyone else',
    async (code) => {
      const app = appThat(new MarketgateError(code, 'x'), { loginPath: '/login' });
      const page = await request(app).get('/').set('accept', BROWSER).expect(302);
      expect(page.headers.location).toBe('/login');
      await request(app).get('/').expect(401);
    },
  );

  it('logs why the page of a visitor who must log in could not be saved', async () => {
    const log = vi.fn();
    const full = new Error('full');
    const session = { save: async () => Promise.reject(full) };
    const app = express();
    app.use((req, _res, next) => next(void Object.assign(req, { session })));
    app.use(appThat(new MarketgateError('login_required', 'x'), { log, loginPath: '/login' }));
    await request(app).get('/').set('accept', BROWSER).expect(401);
    // With its stack, because it is no error of this package.
    expect(log.mock.calls).toEqual([
      [expect.stringMatching(/^marketgate: GET \/ .*session/), full],
    ]);
  });

  it('sends its own body, whatever the route has said of the one that failed', async () => {
    const app = express();
    const file = {
      'Content-Length': '9',
      'Content-Encoding': 'gzip',
      'Content-Disposition': 'attachment',
    };
    app.use((_req, res, next) => next(void res.set({ ...file, ETag: '"1"' })));
    app.use(appThat(new MarketgateError('item_not_found', 'x')));
    const answer = await request(app).get('/').expect(404);
    expect(answer.body.code).toBe('item_not_found');
    for (const name of ['content-disposition', 'etag'])
      expect(answer.headers[name]).toBeUndefined();
  });

  it('leaves other errors to the app', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const own = Object.assign(new Error('mine'), { status: 418, code: 'purchase_required' });
    const answer = await request(appThat(own)).get('/');
    expect(answer.status).toBe(418);
    expect(answer.type).toBe('text/html');
  });

  it('does not answer twice', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const app = appThat(new MarketgateError('purchase_required', 'x'));
    await expect(request(app).get('/begun')).rejects.toThrow();
  });
});

describe.each(expressVersions)('the page of errorHandler on %s', (_version, express) => {
  const pageFor = (code: MarketgateErrorCode, loginPath?: string, path = '/', method = 'get') => {
    const app = express();
    app.use((_req, _res, next) => next(new MarketgateError(code, 'x')));
    app.use(errorHandler({ loginPath, log: false }));
    return request(app)[method as 'get'](path).set('accept', BROWSER);
  };

  it.each([
    ['/login', '<a href="/login">Log in</a>'],
    [undefined, '<a href="/">To the start'],
  ])(
    'of a callback whose auth_key may be used leads away from it: to %s',
    async (loginPath, link) => {
      const { text } = await pageFor('service_unavailable', loginPath, '/callback?auth_key=used');
      expect(text).toContain(link);
      expect(text).not.toContain('Try again');
    },
  );

  it('leads to the login where a redirect would never end', async () => {
    const { text } = await pageFor('login_required', '/login', '/login').expect(401);
    expect(text).toContain('<a href="/login">Log in</a>');
  });

  it.each<[string, MarketgateErrorCode, string | undefined, string, method?: 'post']>([
    ['the start page for another error', 'purchase_required', '/login', '<a href="/">To the start'],
    ['the start page where there is no login', 'login_required', undefined, '<a href="/">To the'],
    ['the login after one that failed', 'login_failed', '/login', '<a href="/login">Log in</a>'],
    ['the login after a used auth_key', 'auth_key_rejected', '/login', '<a href="/login">Log in'],
    ['itself in an outage', 'service_unavailable', '/login', '<a href="">Try again</a>'],
    ['the start page after a form', 'service_unavailable', '/login', '<a href="/">To the', 'post'],
    ['itself after an error of the app', 'api_key_rejected', undefined, '<a href="">Try again</a>'],
  ])('leads to %s', async (_where, code, loginPath, link, method) => {
    const { text } = await pageFor(code, loginPath, '/', method);
    expect(text.match(/<a /g)).toHaveLength(1);
    expect(text).toContain(link);
    expect(text).not.toMatch(/undefined|<form/);
  });

  it.each(['purchase_code_invalid', 'service_unavailable'] as const)(
    'has a field after a form with a code: %s',
    async (code) => {
      const app = express();
      app.use(express.urlencoded({ extended: false }));
      app.use((_req, _res, next) => next(new MarketgateError(code, 'x')));
      app.use(errorHandler({ log: false }));
      const body = 'purchase_code=the-code-of-a-customer';
      const { text } = await request(app).post('/redeem').set('accept', BROWSER).send(body);
      expect(text).toMatch(/<form method="post">[\s\S]*<input name="purchase_code" required/);
      expect(text).not.toContain('the-code-of-a-customer');
    },
  );

  it('says "Error" before its code, and nothing twice', async () => {
    const { text } = await pageFor('purchase_required');
    expect(text).toContain('Error: purchase_required');
    for (const { title, detail } of Object.values(ERROR_CODES)) {
      expect(detail.toLowerCase()).not.toContain(title.toLowerCase());
      expect(detail.split('.').map((sentence) => sentence.trim())).not.toContain(title);
    }
  });

  it('brings its own style, and may load nothing else', async () => {
    const { text, headers } = await pageFor('purchase_required').expect(402);
    expect(text).toMatch(/<style>[^<]*color-scheme[^<]*<\/style>/);
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['retry-after']).toBeUndefined();
  });
});

import {
  type ErrorHandlerOptions,
  errorHandler,
  MarketgateError,
  type MarketgateErrorCode,
  problemOf,
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
const codes = Object.keys(ERROR_CODES) as MarketgateErrorCode[];
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/** Words that mean nothing to a visitor. */
const FOR_DEVELOPERS =
  /\b(?:operator|npx|api|api_?key|app_?id|app_?secret|auth_?key|access_?token|token|cache|redis|http|json|server|session|middleware|null|undefined|store|response|[a-z]+_[a-z_]+)\b/i;

/** What a visitor reads on a page. */
const read = (page: string): string =>
  page.replace(/<style>[\s\S]*<\/style>|<[^>]*>/g, ' ').replace(/\s+/g, ' ');

it('problemOf gives what the error has for visitors, and nothing for an error of somebody else', () => {
  const error = new MarketgateError('login_failed', 'x', { detail: 'Allow cookies.' });
  expect(problemOf(error)).toMatchObject({ detail: 'Allow cookies.', code: 'login_failed' });
  expect(problemOf({ code: 'login_required' })).toBeUndefined();
});

describe.each(expressVersions)('errorHandler on %s', (_version, express) => {
  function appThat(error: unknown, options?: ErrorHandlerOptions) {
    const app = express();
    app.use(express.urlencoded({ extended: false }));
    app.get('/begun', (_req, res, next) => {
      res.write('begun');
      next(error);
    });
    app.use((_req, _res, next) => next(error));
    app.use(errorHandler({ log: false, ...options }));
    return app;
  }
  const failure = (code: MarketgateErrorCode, options = {}) =>
    new MarketgateError(code, 'for the operator only', options);

  it.each(codes)('responds to %s with a problem or a page, and logs 5xx', async (code) => {
    const log = vi.fn();
    const app = appThat(failure(code, { retryAfter: 12.2 }), { log });
    const status = STATUSES[code];
    const problem = await request(app).get('/').expect(status);
    const line = `marketgate: GET (no route) ${status} ${code}: for the operator only (npx marketgate explain ${code})`;
    expect(log.mock.calls).toEqual(status >= 500 ? [[line]] : []);
    expect(problem.type).toBe('application/problem+json');
    expect(problem.body).toEqual({
      type: `urn:marketgate:error:${code}`,
      title: expect.any(String),
      status,
      detail: expect.any(String),
      code,
      retryAfter: 13,
    });
    // On the path of the login, nobody is redirected to it.
    const page = await request(app).get('/login').set('accept', BROWSER).expect(status);
    expect(page.type).toBe('text/html');
    expect(read(page.text)).toContain(problem.body.detail.replace(/'/g, '&#39;'));
    expect(read(page.text)).not.toMatch(FOR_DEVELOPERS);
    expect(page.text).toMatch(/<a href=|<form method="post"/);
    expect(page.headers['content-security-policy']).toMatch(
      /^default-src 'none'.*frame-ancestors 'none'$/,
    );
    for (const { text, headers } of [problem, page]) {
      expect(text).not.toContain('operator');
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'retry-after': '13',
        'x-content-type-options': 'nosniff',
        vary: expect.stringMatching(/accept/i),
      });
    }
  });

  it('responds with what can be read, whatever the route has said of the body that failed', async () => {
    const app = express();
    app.get('/', (_req, res, next) => {
      res.type('zip').set({ 'Content-Length': '9', 'Content-Encoding': 'gzip' });
      next(failure('service_unavailable'));
    });
    app.use(errorHandler({ log: false }));
    const { body } = await request(app).get('/').expect(503);
    expect(body.code).toBe('service_unavailable');
  });

  it('logs by console.error the method and the route, whose path can contain a code, without line breaks', async () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {});
    const error = new MarketgateError('store_unavailable', 'first\nsecond');
    const files = express.Router();
    files.get('/:code', (_req, _res, next) => next(error));
    const app = express()
      .use('/files', files)
      .use(appThat(error, { log: undefined }));
    app.use(errorHandler());
    await request(app).get(`/files/${CODE}?auth_key=k1`).expect(503);
    await request(app).post('/files').expect(503);
    expect(print.mock.calls).toEqual([
      [expect.stringMatching(/^marketgate: GET \/:code 503 store_unavailable: first second \(/)],
      [
        expect.stringMatching(
          /^marketgate: POST \(no route\) 503 store_unavailable: first second \(/,
        ),
      ],
    ]);
  });

  const raise = (): never => {
    throw new Error('template');
  };
  const FAILING: [string, () => unknown][] = [
    ['throws', raise],
    ['rejects', async () => raise()],
  ];

  it.each(FAILING)('prints the line if the log of the app %s', async (_name, log) => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {});
    await request(appThat(failure('service_unavailable'), { log }))
      .get('/')
      .expect(503);
    expect(print).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('for the operator'));
  });

  it('renders the page of the app for visitors who prefer one, with its headers', async () => {
    const error = failure('too_many_attempts', { retryAfter: 3 });
    const app = appThat(error, { render: ({ code }, _req, res) => void res.send(code) });
    const page = await request(app).get('/').set('accept', BROWSER).expect(429);
    expect(page.text).toBe('too_many_attempts');
    expect(page.headers).toMatchObject({ 'retry-after': '3', 'cache-control': 'no-store' });
    expect((await request(app).get('/').expect(429)).body).toEqual(problemOf(error));
  });

  it.each(FAILING)('passes on the error of a render that %s', async (_name, render) => {
    const app = appThat(failure('login_failed'), { render });
    const failed = vi.fn();
    app.use((error: unknown, _req: object, res: { end(): void }, _next: object) => {
      failed(error);
      res.end();
    });
    await request(app).get('/').set('accept', BROWSER);
    expect(failed).toHaveBeenCalledExactlyOnceWith(new Error('template'));
  });

  it.each<[string, object, unknown[]]>([
    [
      'by the store of the sessions',
      { save: async () => Promise.reject(new Error('full')) },
      [expect.stringMatching(/^marketgate: GET .*session\.save failed/)],
    ],
    [
      'by another error, with its stack',
      Object.freeze({}),
      [expect.stringMatching(/^marketgate: GET .*saved$/), expect.any(TypeError)],
    ],
  ])('logs why the page that needs a login could not be saved: %s', async (_by, session, line) => {
    const log = vi.fn();
    const app = express();
    app.use((req, _res, next) => next(void Object.assign(req, { session })));
    app.use(appThat(failure('login_required'), { log, loginPath: '/login' }));
    await request(app).get('/').set('accept', BROWSER).expect(401);
    expect(log.mock.calls).toEqual([line]);
  });

  it('leaves other errors to the app, and does not respond twice', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const own = Object.assign(new Error('mine'), { status: 418, code: 'purchase_required' });
    const answer = await request(appThat(own)).get('/');
    expect([answer.status, answer.type]).toEqual([418, 'text/html']);
    await expect(request(appThat(failure('login_failed'))).get('/begun')).rejects.toThrow();
  });

  describe('the page', () => {
    const paths = { loginPath: '/login', redeemPath: '/redeem' };
    type Visit = { path?: string; body?: string };
    const pageOf = async (
      code: MarketgateErrorCode,
      options: ErrorHandlerOptions,
      { path = '/downloads/1042', body }: Visit = {},
    ): Promise<string> => {
      const app = appThat(failure(code), options);
      const asked = body === undefined ? request(app).get(path) : request(app).post(path);
      return (await asked.set('accept', BROWSER).send(body)).text;
    };
    const [LOGIN, AGAIN] = ['<a href="/login">Log in</a>', '<a href="">Try again</a>'];
    const [HOME, FORM, REDEEM] = [
      '<a href="/">To the start page</a>',
      '<form method="post">',
      '<form method="post" action="/redeem">',
    ];

    it.each<[MarketgateErrorCode, string, ErrorHandlerOptions, Visit?]>([
      ['purchase_required', REDEEM, paths],
      ['purchase_code_invalid', REDEEM, paths],
      ['purchase_item_mismatch', REDEEM, paths],
      ['purchase_required', HOME, { loginPath: '/login' }],
      ['item_not_found', HOME, paths],
      ['auth_key_rejected', LOGIN, paths],
      ['login_failed', LOGIN, paths],
      ['login_failed', HOME, {}],
      ['login_required', LOGIN, paths, { path: '/login' }],
      ['service_unavailable', AGAIN, paths],
      ['too_many_attempts', AGAIN, {}],
      // The app's own parameter: only where the strategy has run can an auth_key be used up.
      ['service_unavailable', AGAIN, paths, { path: '/account?auth_key=mine' }],
      // A form with a code can be corrected, a form with something else cannot be sent again.
      ['purchase_code_invalid', FORM, paths, { body: 'purchase_code=my-code' }],
      ['service_unavailable', FORM, {}, { body: 'purchase_code=my-code' }],
      ['service_unavailable', HOME, paths, { body: 'name=x' }],
    ])('of %s has a way on: %s, with %j and %j', async (code, step, options, visit) => {
      const text = await pageOf(code, options, visit);
      expect(text).toContain(step);
      for (const other of [LOGIN, AGAIN, FORM, REDEEM].filter((each) => each !== step)) {
        expect(text).not.toContain(other);
      }
      if (step.startsWith('<form')) expect(text).toContain('<input name="purchase_code" required');
      expect(text).not.toMatch(/undefined|my-code/);
    });
  });
});

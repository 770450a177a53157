import { errorHandler, MarketgateError, type MarketgateErrorCode } from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { ERROR_CODES } from '../../../src/errors.js';
import { expressVersions } from '../../support/express-versions.js';

/** Section 5 of the contract, and the denials of section 4. */
const STATUSES: Record<MarketgateErrorCode, number> = {
  purchase_required: 402,
  purchase_code_invalid: 403,
  purchase_item_mismatch: 403,
  license_type_mismatch: 403,
  support_expired: 403,
  purchase_not_accepted: 403,
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

describe.each(expressVersions)('errorHandler on %s', (_version, express) => {
  function appThat(error: unknown, options?: { loginPath?: string }) {
    const app = express();
    app.all('/', (_req, _res, next) => next(error));
    app.get('/begun', (_req, res, next) => {
      res.write('begun');
      next(error);
    });
    app.use(errorHandler(options));
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

  it.each([
    ['nothing', undefined, 'application/problem+json'],
    ['anything', '*/*', 'application/problem+json'],
    ['JSON', 'application/json', 'application/problem+json'],
    ['problems', 'application/problem+json', 'application/problem+json'],
    ['pictures', 'image/png', 'application/problem+json'],
    ['a page', 'text/html', 'text/html'],
    ['what a browser asks for', BROWSER, 'text/html'],
  ])('who accepts %s gets %s', async (_name, accept, type) => {
    const asked = request(appThat(new MarketgateError('purchase_required', 'x'))).get('/');
    const answer = await (accept === undefined ? asked : asked.set('accept', accept));
    expect(answer.type).toBe(type);
  });

  it('says when to come back', async () => {
    const error = new MarketgateError('service_unavailable', 'x', { retryAfter: 12.2 });
    expect((await request(appThat(error)).get('/')).headers['retry-after']).toBe('13');
  });

  it.each(['login_required', 'access_token_expired'] as const)(
    '%s sends a browser to the login, and tells everyone else',
    async (code) => {
      const app = appThat(new MarketgateError(code, 'x'), { loginPath: '/login' });
      const page = await request(app).get('/').set('accept', BROWSER).expect(302);
      expect(page.headers.location).toBe('/login');
      await request(app).get('/').expect(401);
      await request(app).post('/').set('accept', BROWSER).expect(401);
      await request(app).get('/').set('accept', BROWSER).set('sec-fetch-mode', 'cors').expect(401);
      await request(app)
        .get('/')
        .set('accept', BROWSER)
        .set('x-requested-with', 'XMLHttpRequest')
        .expect(401);
    },
  );

  it('without loginPath a browser gets a page', async () => {
    const app = appThat(new MarketgateError('login_required', 'x'));
    await request(app).get('/').set('accept', BROWSER).expect(401);
  });

  it('leaves other errors to the app', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const own = Object.assign(new Error('mine'), { status: 418, code: 'purchase_required' });
    const answer = await request(appThat(own)).get('/');
    log.mockRestore();
    expect(answer.status).toBe(418);
    expect(answer.type).toBe('text/html');
  });

  it('does not answer twice', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const app = appThat(new MarketgateError('purchase_required', 'x'));
    await expect(request(app).get('/begun')).rejects.toThrow();
    log.mockRestore();
  });
});

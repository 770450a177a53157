import express, { type Response } from 'express';
import {
  type ErrorHandlerOptions,
  errorHandler,
  MarketgateError,
  type MarketgateErrorCode,
  problemOf,
  type Site,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { ERROR_CODES } from '../../../src/errors.js';
import { throwing } from '../../support/errors.js';
import { CODE } from '../../support/wire.js';

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

it.each<[string, unknown]>([
  ['site.logo', { logo: 'javascript:alert(1)' }],
  ['site.logo', { logo: '//cdn.example/logo.svg' }],
  ['site.home', { home: '/\\evil.example' }],
  ['site.home', { home: 'help@shop.example' }],
  ['site.contact', { contact: 'mailto:help@shop.example' }],
  ['site.name', { name: ' ' }],
  ['site.words.login_failed.title', { words: { login_failed: { title: 1 } } }],
  ['site.words: unknown option "logn"', { words: { logn: {} } }],
  ['site: unknown option "color"', { color: 'red' }],
])('errorHandler refuses a wrong %s: %j', (name, site) => {
  expect(() => errorHandler({ site: site as Site })).toThrow(TypeError);
  expect(() => errorHandler({ site: site as Site })).toThrow(name);
});

describe('errorHandler', () => {
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
    const { status } = ERROR_CODES[code];
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

  it.each([throwing(new Error('template')), () => Promise.reject(new Error('template'))])(
    'prints the line if the log of the app fails: %s',
    async (log) => {
      const print = vi.spyOn(console, 'error').mockImplementation(() => {});
      const app = appThat(failure('service_unavailable'), { log });
      await request(app).get('/').expect(503);
      expect(print).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('for the operator'));
    },
  );

  it('renders the page of the app for visitors who prefer one, with its headers', async () => {
    const error = failure('too_many_attempts', { retryAfter: 3 });
    const app = appThat(error, { render: ({ code }, _req, res) => void res.send(code) });
    const page = await request(app).get('/').set('accept', BROWSER).expect(429);
    expect(page.text).toBe('too_many_attempts');
    expect(page.headers).toMatchObject({ 'retry-after': '3', 'cache-control': 'no-store' });
    expect((await request(app).get('/').expect(429)).body).toEqual(problemOf(error));
  });

  it('passes on the error of a render that fails', async () => {
    const app = appThat(failure('login_failed'), { render: throwing(new Error('template')) });
    const failed = vi.fn((_error: unknown, _req: object, res: Response, _next: object) =>
      res.end(),
    );
    app.use(failed);
    await request(app).get('/').set('accept', BROWSER);
    expect(failed.mock.calls.map(([error]) => error)).toEqual([new Error('template')]);
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
    const HOME = 'To the start page';
    const FORM = '<form method="post">';
    const REDEEM = '<form method="post" action="/redeem">';
    const linkTo = (href: string, text: string) =>
      `<p class="next"><a href="${href}" class="button main">${text}</a></p>`;
    const [LOGIN, AGAIN] = [linkTo('/login', 'Log in'), linkTo('', 'Try again')];
    const ANOTHER = linkTo('/login', 'Log in with another account');
    const contact = { site: { contact: '/help' } };
    const HELP = linkTo('/help', 'Contact us');

    it.each<[MarketgateErrorCode, string, ErrorHandlerOptions, Visit?]>([
      ['purchase_required', REDEEM, paths],
      ['purchase_code_invalid', REDEEM, paths],
      ['purchase_item_mismatch', REDEEM, paths],
      ['license_type_mismatch', REDEEM, paths],
      ['purchase_not_accepted', REDEEM, paths],
      ['purchase_required', linkTo('/', HOME), { loginPath: '/login' }],
      ['purchase_required', HELP, contact],
      ['purchase_held', ANOTHER, paths],
      ['purchase_held', HELP, contact],
      ['support_expired', linkTo('/', HOME), paths],
      ['support_expired', HELP, { ...paths, ...contact }],
      ['item_not_found', linkTo('/', HOME), { ...paths, ...contact }],
      [
        'item_not_found',
        linkTo('https://shop.example/', HOME),
        { site: { home: 'https://shop.example/' } },
      ],
      ['auth_key_rejected', LOGIN, paths],
      ['login_failed', LOGIN, paths],
      ['login_failed', linkTo('/', HOME), {}],
      ['login_required', linkTo('/', HOME), paths, { path: '/login' }],
      ['service_unavailable', AGAIN, paths],
      ['too_many_attempts', AGAIN, {}],
      ['api_key_rejected', HELP, contact],
      // The app's own parameter: only where the strategy has run can an auth_key be used up.
      ['service_unavailable', AGAIN, paths, { path: '/account?auth_key=mine' }],
      // A form with a code can be corrected, a form with something else cannot be sent again.
      ['purchase_code_invalid', FORM, paths, { body: 'purchase_code=my-code' }],
      ['service_unavailable', FORM, {}, { body: 'purchase_code=my-code' }],
      ['service_unavailable', linkTo('/', HOME), paths, { body: 'name=x' }],
      ['support_expired', linkTo('/', HOME), paths, { body: 'purchase_code=my-code' }],
    ])('of %s has one next step: %s, with %j and %j', async (code, step, options, visit) => {
      const text = await pageOf(code, options, visit);
      expect(text).toContain(step);
      const steps = text.match(/<form|class="button main"/g);
      expect(steps).toHaveLength(1);
      expect(text).toContain(HOME);
      expect(text.match(/Contact us/g) ?? []).toHaveLength(options.site?.contact ? 1 : 0);
      if (step.startsWith('<form')) expect(text).toContain('<input name="purchase_code" required');
      expect(text).not.toMatch(/undefined|my-code|Error \d/);
    });

    it('says in how many seconds it can be tried again, where that is known', async () => {
      const error = failure('too_many_attempts', { retryAfter: 41.5 });
      const { text } = await request(appThat(error)).get('/').set('accept', BROWSER);
      expect(text).toContain('You can try again in 42 seconds.');
      expect(await pageOf('too_many_attempts', {})).not.toContain('seconds');
    });

    it('shows the name, the logo, the start page and the contact of the site', async () => {
      const logo = 'https://cdn.example/a;b,c.svg?v=1';
      const site = { name: 'Ada & Co', logo, contact: 'help@shop.example', home: '/start' };
      const app = appThat(failure('login_failed'), { ...paths, site });
      const { text, headers } = await request(app).get('/').set('accept', BROWSER);
      for (const part of [
        `<header><a href="/start"><img src="${logo}" alt="" height="40">Ada &amp; Co</a></header>`,
        '<title>The login could not be completed · Ada &amp; Co</title>',
        '<footer><a href="mailto:help@shop.example">Contact us</a></footer>',
      ]) {
        expect(text).toContain(part);
      }
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; .*; img-src https:\/\/cdn\.example\/a%3Bb%2Cc\.svg$/,
      );
    });

    it('lets a logo of the site itself be loaded', async () => {
      const app = appThat(failure('login_failed'), { site: { logo: '/logo.svg' } });
      const { text, headers } = await request(app).get('/').set('accept', BROWSER);
      expect(text).toContain('<img src="/logo.svg" alt="To the start page" height="40">');
      expect(headers['content-security-policy']).toMatch(/; img-src 'self'$/);
    });

    it('speaks the language of the site, as does the problem of RFC 9457', async () => {
      const own = { title: 'Zu viele Versuche', detail: 'Bitte warten.' };
      const words = {
        too_many_attempts: { ...own, button: 'Nochmal' },
        purchase_required: { button: 'Weiter' },
        page: { lang: 'de', wait: 'In {seconds} s.', home: 'Startseite', code: 'Kaufcode' },
      };
      const options = { ...paths, site: { words } };
      const app = appThat(failure('too_many_attempts', { retryAfter: 9 }), options);
      const { text } = await request(app).get('/').set('accept', BROWSER);
      const shown = ['lang="de"', ...Object.values(own), 'In 9 s.', 'Startseite'];
      for (const part of [...shown, linkTo('', 'Nochmal')]) expect(text).toContain(part);
      expect((await request(app).get('/')).body).toMatchObject(own);
      const form = await pageOf('purchase_required', options);
      expect(form).toContain('<button class="main">Weiter</button>');
      expect(form).toContain('<label>Kaufcode');
    });
  });
});

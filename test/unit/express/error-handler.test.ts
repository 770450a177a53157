import express from 'express';
import {
  type ErrorHandlerOptions,
  errorHandler,
  MarketgateError,
  type MarketgateErrorCode,
  problemOf,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { throwing } from '../../support/errors.js';
import { CODE } from '../../support/wire.js';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const failure = (code: MarketgateErrorCode, options = {}) =>
  new MarketgateError(code, 'for the operator only', options);

function appThat(error: unknown, options?: ErrorHandlerOptions) {
  const app = express();
  app.use(express.urlencoded({ extended: false }), express.json());
  app.use((_req, _res, next) => next(error));
  app.use(errorHandler({ log: false, ...options }));
  return app;
}
const pageOf = (error: unknown, options?: ErrorHandlerOptions) =>
  request(appThat(error, options)).get('/downloads/1042').set('accept', BROWSER);

it('problemOf gives what the error has for visitors, and nothing for an error of somebody else', () => {
  const error = new MarketgateError('login_failed', 'x', { detail: 'Allow cookies.' });
  expect(problemOf(error)).toMatchObject({ detail: 'Allow cookies.', code: 'login_failed' });
  expect(problemOf({ code: 'login_required' })).toBeUndefined();
});

describe('errorHandler', () => {
  it('responds with a problem, or with a page to a browser, and says when to come back', async () => {
    const error = failure('too_many_attempts', { retryAfter: 12.2 });
    const problem = await request(appThat(error)).get('/').expect(429);
    const page = await pageOf(error).expect(429);
    expect(problem.type).toBe('application/problem+json');
    expect(problem.body).toEqual({ ...problemOf(error), retryAfter: 13 });
    expect(page.type).toBe('text/html');
    expect(page.text).toContain('You can try again in 13 seconds.');
    expect(page.headers['content-security-policy']).toMatch(
      /^default-src 'none'.*frame-ancestors 'none'$/,
    );
    for (const { headers } of [problem, page]) {
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

  it('logs 5xx in one line, with the route in place of the path, which can contain a code', async () => {
    const log = vi.fn();
    const error = new MarketgateError('store_unavailable', 'first\nsecond');
    const files = express.Router().get('/:code', (_req, _res, next) => next(error));
    const app = express().use('/files', files, appThat(error, { log })).use(errorHandler({ log }));
    await request(app).get(`/files/${CODE}?auth_key=k1`).expect(503);
    await request(app).post('/files').expect(503);
    await pageOf(failure('login_failed'), { log }).expect(401);
    const line = 'store_unavailable: first second (npx marketgate explain store_unavailable)';
    expect(log.mock.calls).toEqual([
      [`marketgate: GET /:code 503 ${line}`],
      [`marketgate: POST (no route) 503 ${line}`],
    ]);
  });

  it.each([undefined, throwing(new Error('disk')), () => Promise.reject(new Error('disk'))])(
    'logs by console.error where the app has no log, or a log that fails: %s',
    async (log) => {
      const print = vi.spyOn(console, 'error').mockImplementation(() => {});
      await pageOf(failure('service_unavailable'), { log }).expect(503);
      expect(print).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('for the operator'));
    },
  );

  it('logs that the page that needs a login could not be saved', async () => {
    const log = vi.fn();
    const app = express();
    const session = { save: () => Promise.reject(new Error('full')) };
    app.use((req, _res, next) => next(void Object.assign(req, { session })));
    app.use(appThat(failure('login_required'), { log, loginPath: '/login' }));
    await request(app).get('/').set('accept', BROWSER).expect(401);
    const line = expect.stringContaining('could not be saved: session.save failed');
    expect(log.mock.calls).toEqual([[line]]);
  });

  it('renders the page of the app for browsers, with its headers, and passes on its failure', async () => {
    const error = failure('too_many_attempts', { retryAfter: 3 });
    const render: ErrorHandlerOptions['render'] = ({ code }, _req, res) => void res.send(code);
    const page = await pageOf(error, { render }).expect(429);
    expect(page.text).toBe('too_many_attempts');
    expect(page.headers).toMatchObject({ 'retry-after': '3', 'cache-control': 'no-store' });
    expect((await request(appThat(error, { render })).get('/')).body).toEqual(problemOf(error));
    const broken = new Error('template');
    const failed = vi.fn((_error, _req, res: express.Response, _next) => res.end());
    const app = appThat(error, { render: throwing(broken) }).use(failed);
    await request(app).get('/').set('accept', BROWSER);
    expect(failed.mock.lastCall?.[0]).toBe(broken);
  });

  it('leaves other errors to the app, and does not respond twice', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const own = Object.assign(new Error('mine'), { status: 418, code: 'purchase_required' });
    const answer = await request(appThat(own)).get('/');
    expect([answer.status, answer.type]).toEqual([418, 'text/html']);
    const begun = express().use((_req, res, next) => next(void res.write('begun')));
    await expect(request(begun.use(appThat(failure('login_failed')))).get('/')).rejects.toThrow();
  });
});

describe('the page of an error', () => {
  const paths = { loginPath: '/login', redeemPath: '/redeem' };
  const contact = { site: { contact: '/help' } };
  const HOME = 'To the start page';
  const FORM = '<form method="post">';
  const REDEEM = '<form method="post" action="/redeem">';
  const linkTo = (href: string, text: string) =>
    `<p class="next"><a href="${href}" class="button main">${text}</a></p>`;
  const [LOGIN, AGAIN, HELP, START] = [
    linkTo('/login', 'Log in'),
    linkTo('', 'Try again'),
    linkTo('/help', 'Contact us'),
    linkTo('/', HOME),
  ];
  const ANOTHER = linkTo('/login', 'Log in with another account');

  it.each<[MarketgateErrorCode, string, ErrorHandlerOptions, sent?: string]>([
    ['purchase_required', REDEEM, paths],
    ['purchase_code_invalid', REDEEM, paths],
    ['purchase_required', START, { loginPath: '/login' }],
    ['purchase_held', ANOTHER, paths],
    ['purchase_held', HELP, contact],
    ['support_expired', HELP, { ...paths, ...contact }],
    ['item_not_found', START, { ...paths, ...contact }],
    ['login_failed', LOGIN, paths],
    ['service_unavailable', AGAIN, paths],
    // A form with a code can be corrected, a form with something else cannot be sent again.
    ['purchase_code_invalid', FORM, paths, 'purchase_code=my-code'],
    ['service_unavailable', FORM, {}, 'purchase_code=my-code'],
    ['service_unavailable', START, paths, 'name=x'],
    // The form would lose what else the route needs.
    ['purchase_code_invalid', REDEEM, paths, 'purchase_code=my-code&note=x'],
    ['purchase_code_invalid', START, {}, '{"purchase_code":"my-code"}'],
  ])('%s has one next step: %s, with %j, after a form with %s', async (...row) => {
    const [code, step, options, sent] = row;
    const app = appThat(failure(code), options);
    // The app's own parameter: only where the strategy has run can an auth_key be used up.
    const type = sent?.startsWith('{') ? 'json' : 'form';
    const asked = sent
      ? request(app).post('/').type(type).send(sent)
      : request(app).get('/?auth_key=mine');
    const { text } = await asked.set('accept', BROWSER);
    expect(text).toContain(step);
    expect(text.match(/<form|class="button main"/g)).toHaveLength(1);
    expect(text).toContain(HOME);
    expect(text.match(/Contact us/g) ?? []).toHaveLength(options.site?.contact ? 1 : 0);
    if (step.startsWith('<form')) expect(text).toContain('<input name="purchase_code" required');
    expect(text).not.toMatch(/undefined|my-code|seconds|Error \d/);
  });

  it('shows the name, the logo, the start page and the contact of the site, and loads the logo alone', async () => {
    const logo = 'https://cdn.example/a;b,c.svg?v=1';
    const site = { name: 'Ada & Co', logo, contact: 'help@shop.example', home: '/start' };
    const { text, headers } = await pageOf(failure('login_failed'), { ...paths, site });
    for (const part of [
      `<header><a href="/start"><img src="${logo}" alt="" height="40">Ada &amp; Co</a></header>`,
      '<title>The login could not be completed · Ada &amp; Co</title>',
      '<footer><a href="mailto:help@shop.example">Contact us</a></footer>',
    ]) {
      expect(text).toContain(part);
    }
    const policy = 'content-security-policy';
    expect(headers[policy]).toMatch(
      /^default-src 'none'; .*; img-src https:\/\/cdn\.example\/a%3Bb%2Cc\.svg$/,
    );
    const own = await pageOf(failure('login_failed'), { site: { logo: '/logo.svg' } });
    expect(own.text).toContain('<img src="/logo.svg" alt="To the start page" height="40">');
    expect(own.headers[policy]).toMatch(/; img-src 'self'$/);
  });

  it('speaks the language of the site, as does the problem of RFC 9457', async () => {
    const own = { title: 'Zu viele Versuche', detail: 'Bitte warten.' };
    const words = {
      too_many_attempts: { ...own, button: 'Nochmal' },
      purchase_required: { button: 'Weiter' },
      page: { lang: 'de', wait: 'In {seconds} s.', home: 'Startseite', code: 'Kaufcode' },
    };
    const options = { ...paths, site: { words } };
    const error = failure('too_many_attempts', { retryAfter: 9 });
    const { text } = await pageOf(error, options);
    const shown = ['lang="de"', ...Object.values(own), 'In 9 s.', 'Startseite'];
    for (const part of [...shown, linkTo('', 'Nochmal')]) expect(text).toContain(part);
    expect((await request(appThat(error, options)).get('/')).body).toMatchObject(own);
    const form = (await pageOf(failure('purchase_required'), options)).text;
    expect(form).toContain('<button class="main">Weiter</button>');
    expect(form).toContain('<label>Kaufcode');
  });
});

import { inspect } from 'node:util';
import { KeyApi, LoginApi } from 'marketgate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { repetitionsOf, SENTINEL } from '../../support/secrets/support/secret-forms.js';
import { expectClean, failureOf } from '../../support/secrets/support/sentinels.js';
import { type Answerer, json } from '../../support/service-in-memory.js';
import { startUpstream } from '../../support/upstream.js';
import { serviceOf } from '../fuzz/support/checks.js';

const BASE = 'https://market.example';
const anything: Answerer = () => json({});

const keyApiOn = (says = anything, options: object = {}): KeyApi =>
  new KeyApi({
    baseUrl: BASE,
    apiKey: SENTINEL.apiKey,
    dispatcher: serviceOf(says),
    retries: 0,
    ...options,
  });
const loginApiOn = (says = anything, options: object = {}): LoginApi =>
  new LoginApi({
    authUrl: BASE,
    appId: 'app-7',
    appSecret: SENTINEL.appSecret,
    dispatcher: serviceOf(says),
    retries: 0,
    ...options,
  });

const { apiKey, appSecret, authKey, accessToken, code } = SENTINEL;

/** Calls of one client each; its clock jumps, so that no breaker is open for the next. */
type Call = [name: string, secrets: string[], open: (says: Answerer) => () => Promise<unknown>];
let now = 0;
const clock = (): number => {
  now += 3_600_000;
  return now;
};
const onKeyApi =
  (ask: (api: KeyApi) => Promise<unknown>, options = {}) =>
  (says: Answerer) => {
    const api = keyApiOn(says, { clock, cache: false, ...options });
    return () => ask(api);
  };
const onLoginApi =
  (ask: (api: LoginApi) => Promise<unknown>, options = {}) =>
  (says: Answerer) => {
    const api = loginApiOn(says, { clock, ...options });
    return () => ask(api);
  };
const CALLS: Call[] = [
  ['getAccount', [apiKey], onKeyApi((api) => api.getAccount())],
  ['listItems', [apiKey], onKeyApi((api) => api.listItems())],
  ['getItem', [apiKey], onKeyApi((api) => api.getItem(1042))],
  ...(['form', 'json', 'query'] as const).map((validationEncoding): Call => {
    const open = onKeyApi((api) => api.validatePurchase(code), { validationEncoding });
    return [`validatePurchase, ${validationEncoding}`, [apiKey, code], open];
  }),
  ...(['post', 'get'] as const).map((authorizeMethod): Call => {
    const open = onLoginApi((api) => api.exchange(authKey), { authorizeMethod });
    return [`exchange, ${authorizeMethod}`, [appSecret, authKey], open];
  }),
  ['getUser', [accessToken, appSecret], onLoginApi((api) => api.getUser(accessToken))],
];

/** What a service can say that repeats a text. */
const bodiesWith = (text: string): object[] => [
  ...[{ status: 'error', msg: text }, { error: true, message: text }, { error: text }],
  ...[{ [text]: text }, [text], { items: [{ [text]: 1 }] }],
  { data: { purchase: { purchase_code: text, item: { id: text } }, [text]: text } },
  { user_info: { user_id: [text], [text]: [text] } },
];

describe.each(CALLS)('%s', (_name, secrets, open) => {
  it.each([200, 401, 404, 500])('shows nothing that a service repeats: HTTP %d', async (status) => {
    for (const secret of secrets) {
      // Every place that could repeat it, and in the place for sentences every form.
      const bodies = [
        ...bodiesWith(`The value ${secret} is wrong.`),
        ...repetitionsOf(secret).map((msg) => ({ status: 'error', error: true, msg })),
      ];
      let body: object = {};
      const ask = open(() => json(body, status));
      for (body of bodies) {
        const error = await ask().then(
          () => undefined,
          (error: unknown) => error,
        );
        if (error !== undefined) expectClean(error);
      }
    }
  });

  it('shows nothing of a page, of headers, of a redirect or of an error of the network', async () => {
    for (const secret of secrets) {
      let answer: ReturnType<Answerer>;
      const ask = open(() => answer);
      const url = `${BASE}/api/x?api_key=${encodeURIComponent(secret)}`;
      const shown = `${secret}</title>${encodeURIComponent(secret)}`;
      const bytes = Buffer.from(`<html><title>${shown}</html>`);
      const names = ['location', 'retry-after', 'content-encoding', 'content-length'];
      const answers: (typeof answer)[] = [
        ...[200, 307, 429, 500].flatMap((status) =>
          names.map((name) => {
            const headers = { [name]: encodeURIComponent(secret), 'set-cookie': [secret] };
            return { status, headers, bytes, cuts: [] };
          }),
        ),
        new Error(`connect failed for ${url}`),
        Object.assign(new Error(secret), { code: secret, url, request: { path: url } }),
        Object.assign(new Error('x', { cause: new Error(secret) }), { code: 'ECONNRESET' }),
        Object.assign(new TypeError('Invalid URL'), { input: url, code: 'ERR_INVALID_URL' }),
      ];
      for (answer of answers) expectClean(await failureOf(ask));
    }
  });
});

it.each<[string, Parameters<typeof startUpstream>[0], object]>([
  ['is cut', (_request, res) => res.destroy(), {}],
  [
    'is cut in the body',
    (_request, res) => {
      res.writeHead(200, { 'content-length': '900' });
      res.write('{"status":', () => res.destroy());
    },
    {},
  ],
  ['is garbage', ({ path }, res) => res.socket?.end(`no HTTP ${path} ${apiKey}\r\n\r\n`), {}],
  [
    'has headers without end',
    (_request, res) => res.socket?.end(`HTTP/1.1 200 OK\r\nx-key: ${apiKey.repeat(999)}\r\n\r\n`),
    {},
  ],
  ['never comes', () => {}, { timeout: 60 }],
  ['is too large', (_request, res) => res.end(apiKey.repeat(99)), { maxResponseBytes: 99 }],
])('an answer over a real connection that %s shows nothing', async (_what, answer, options) => {
  const { url } = await startUpstream(answer);
  const keyApi = new KeyApi({ baseUrl: url, apiKey, retries: 1, ...options });
  const app = { authUrl: url, appId: 'app-7', appSecret };
  const loginApi = new LoginApi({ ...app, retries: 1, ...options });
  onTestFinished(async () => {
    await keyApi.close();
    await loginApi.close();
  });
  for (const call of [
    () => keyApi.validatePurchase(code),
    () => loginApi.exchange(authKey),
    () => loginApi.getUser(accessToken),
  ]) {
    expectClean(await failureOf(call));
  }
  expectClean(keyApi, loginApi);
});

describe('arguments and options that are wrong', () => {
  const noise = SENTINEL.authKey;
  it.each<[string, () => unknown]>([
    ['baseUrl that is none', () => keyApiOn(anything, { baseUrl: apiKey })],
    ['a baseUrl with a name', () => keyApiOn(anything, { baseUrl: `https://u:${noise}@x.test` })],
    ['baseUrl with a query', () => keyApiOn(anything, { baseUrl: `${BASE}?api_key=${apiKey}` })],
    ['plain http', () => keyApiOn(anything, { baseUrl: `http://${noise}.example` })],
    ['a wrong encoding', () => keyApiOn(anything, { validationEncoding: code })],
    ['an apiKey in a list', () => keyApiOn(anything, { apiKey: [apiKey] })],
    ['authUrl that is none', () => loginApiOn(anything, { authUrl: appSecret })],
    ['an appSecret in a list', () => loginApiOn(anything, { appSecret: [appSecret] })],
    ['an item id', () => keyApiOn().getItem(apiKey)],
    ['a code that is none', () => keyApiOn().validatePurchase({ code } as never)],
    ['a code to forget', () => keyApiOn().invalidate([code] as never)],
    ['an auth_key too long', () => loginApiOn().exchange(authKey.repeat(200))],
    ['a token that is none', () => loginApiOn().getUser({ value: [accessToken] } as never)],
    ['an old token', () => loginApiOn().getUser({ value: accessToken, issuedAt: 0, expiresAt: 1 })],
  ])('an error about %s shows no secret', async (_what, run) => {
    expectClean(await failureOf(run));
  });
});

it('the clients themselves show no secret in a debugger, a log or JSON, also after a call', async () => {
  const purchase = { purchase_code: code, item: { id: 7, media: {} } };
  const keyApi = keyApiOn(() => json({ status: 'success', data: { purchase } }), {
    cache: { secret: SENTINEL.cacheSecret, scope: 'northlight' },
  });
  expect(await keyApi.validatePurchase(code)).toMatchObject({ purchase_code: code });
  const loginApi = loginApiOn(() => json({ access_token: accessToken }));
  expect((await loginApi.exchange(authKey)).value).toBe(accessToken);
  const all = { keyApi, loginApi, list: [keyApi, loginApi] };
  expectClean(keyApi, loginApi, all, inspect(all, { showHidden: true, depth: null }));
  expectClean(loginApi.loginUrl());
});

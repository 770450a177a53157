import { inspect } from 'node:util';
import { KeyApi, LoginApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { repetitionsOf, SENTINEL } from '../../support/secrets/support/secret-forms.js';
import { expectClean, failureOf } from '../../support/secrets/support/sentinels.js';
import { type Answerer, json } from '../../support/service-in-memory.js';
import { serviceOf } from '../fuzz/support/checks.js';

const BASE = 'https://market.example';
const { apiKey, appSecret, authKey, accessToken, code } = SENTINEL;
const anything: Answerer = () => json({});

const keyApiOn = (says = anything, options: object = {}): KeyApi =>
  new KeyApi({
    ...{ baseUrl: BASE, apiKey, fetch: serviceOf(says).fetch, retries: 0, cache: false },
    ...options,
  });
const loginApiOn = (says = anything, options: object = {}): LoginApi =>
  new LoginApi({
    ...{ authUrl: BASE, appId: 'app-7', appSecret, fetch: serviceOf(says).fetch, retries: 0 },
    ...options,
  });

type Ask = (says: Answerer) => Promise<unknown>;
const CALLS: [name: string, secrets: string[], ask: Ask][] = [
  ['getAccount', [apiKey], (says) => keyApiOn(says).getAccount()],
  ['listItems', [apiKey], (says) => keyApiOn(says).listItems()],
  ['getItem', [apiKey], (says) => keyApiOn(says).getItem(1042)],
  ...(['form', 'query'] as const).map((validationEncoding): (typeof CALLS)[0] => [
    `validatePurchase, ${validationEncoding}`,
    [apiKey, code],
    (says) => keyApiOn(says, { validationEncoding }).validatePurchase(code),
  ]),
  ...(['post', 'get'] as const).map((authorizeMethod): (typeof CALLS)[0] => [
    `exchange, ${authorizeMethod}`,
    [appSecret, authKey],
    (says) => loginApiOn(says, { authorizeMethod }).exchange(authKey),
  ]),
  ['getUser', [accessToken, appSecret], (says) => loginApiOn(says).getUser(accessToken)],
];

/** What a service can say that repeats a secret: in every place, and in that for sentences in every form. */
const bodiesWith = (secret: string): object[] => {
  const text = `The value ${secret} is wrong.`;
  return [
    ...[{ error: text }, { [text]: text }, [text], { items: [{ [text]: 1 }] }],
    { data: { purchase: { purchase_code: text, item: { id: text } }, [text]: text } },
    { user_info: { user_id: [text], [text]: [text] } },
    ...repetitionsOf(secret).map((msg) => ({ status: 'error', error: true, msg, message: msg })),
  ];
};

describe.each(CALLS)('an error of %s', (_name, secrets, ask) => {
  it('shows nothing that a service repeats', async () => {
    for (const body of secrets.flatMap(bodiesWith)) {
      const error = await ask(() => json(body)).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (error !== undefined) expectClean(error);
    }
  });

  it('shows nothing of a page, of headers, of a redirect or of an error of the network', async () => {
    for (const secret of secrets) {
      const url = `${BASE}/api/x?api_key=${encodeURIComponent(secret)}`;
      const bytes = Buffer.from(`<html><title>${secret}</title>${encodeURIComponent(secret)}`);
      const names = ['location', 'retry-after', 'content-encoding', 'content-length'];
      const answers: ReturnType<Answerer>[] = [
        ...[200, 307, 500].flatMap((status) =>
          names.map((name) => {
            const headers = { [name]: encodeURIComponent(secret) };
            return { status, headers, bytes, cuts: [] };
          }),
        ),
        new Error(`connect failed for ${url}`),
        Object.assign(new Error(secret), { code: secret, url, request: { path: url } }),
        Object.assign(new Error('x', { cause: new Error(secret) }), { code: 'ECONNRESET' }),
        Object.assign(new TypeError('Invalid URL'), { input: url, code: 'ERR_INVALID_URL' }),
      ];
      for (const answer of answers) expectClean(await failureOf(() => ask(() => answer)));
    }
  });
});

it.each<[string, () => unknown]>([
  ['baseUrl that is none', () => keyApiOn(anything, { baseUrl: apiKey })],
  ['a baseUrl with a name', () => keyApiOn(anything, { baseUrl: `https://u:${apiKey}@x.test` })],
  ['plain http', () => keyApiOn(anything, { baseUrl: `http://${authKey}.example` })],
  ['a wrong encoding', () => keyApiOn(anything, { validationEncoding: code })],
  ['an apiKey in a list', () => keyApiOn(anything, { apiKey: [apiKey] })],
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

it('the clients themselves show no secret in a debugger, a log or JSON, also after a call', async () => {
  const purchase = { purchase_code: code, item: { id: 7, media: {} } };
  const sold = json({ status: 'success', data: { purchase } });
  const keyApi = keyApiOn(() => sold, { cache: {} });
  expect(await keyApi.validatePurchase(code)).toMatchObject({ purchase_code: code });
  const loginApi = loginApiOn(() => json({ access_token: accessToken }));
  expect((await loginApi.exchange(authKey)).value).toBe(accessToken);
  const all = { keyApi, loginApi, list: [keyApi, loginApi] };
  expectClean(all, inspect(all, { showHidden: true, depth: null }), loginApi.loginUrl());
});

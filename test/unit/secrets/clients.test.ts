import { inspect } from 'node:util';
import { KeyApi, LoginApi } from 'marketgate';
import { expect, it } from 'vitest';
import { repetitionsOf, SENTINEL } from '../../support/secrets/support/secret-forms.js';
import { expectClean } from '../../support/secrets/support/sentinels.js';
import {
  type Answerer,
  json,
  type Reply,
  ServiceInMemory,
} from '../../support/service-in-memory.js';

const BASE = 'https://market.example';
const { apiKey, appSecret, authKey, accessToken, code } = SENTINEL;

const optionsOf = (says: Answerer) => {
  const { fetch } = new ServiceInMemory(says, { isSwept: false });
  return { fetch, retries: 0 };
};
const keyApiOn = (says: Answerer, options: object = {}): KeyApi =>
  new KeyApi({ baseUrl: BASE, apiKey, ...optionsOf(says), ...options });
const loginApiOn = (says: Answerer, options: object = {}): LoginApi =>
  new LoginApi({ authUrl: BASE, appId: 'app-7', appSecret, ...optionsOf(says), ...options });

/** What a service, or what stands in front of it, can say that repeats a secret. */
function repliesWith(secret: string): Reply[] {
  const inUrl = encodeURIComponent(secret);
  const url = `${BASE}/api/x?api_key=${inUrl}`;
  const text = `The value ${secret} is wrong.`;
  const bytes = Buffer.from(`<html><title>${secret}</title>${inUrl}`);
  return [
    ...[{ error: text }, { [text]: text }, [text], { items: [{ [text]: 1 }] }].map((body) =>
      json(body),
    ),
    json({ data: { purchase: { purchase_code: text, item: { id: text } }, [text]: text } }),
    json({ user_info: { user_id: [text], [text]: [text] } }),
    ...repetitionsOf(secret).map((msg) =>
      json({ status: 'error', error: true, msg, message: msg }),
    ),
    { status: 200, headers: { 'content-encoding': inUrl }, bytes },
    { status: 307, headers: { location: inUrl }, bytes },
    { status: 500, headers: { 'retry-after': inUrl }, bytes },
    new Error(`connect failed for ${url}`),
    Object.assign(new Error(secret), { code: secret, url, request: { path: url } }),
    Object.assign(new Error('x', { cause: new Error(secret) }), { code: 'ECONNRESET' }),
    Object.assign(new TypeError('Invalid URL'), { input: url, code: 'ERR_INVALID_URL' }),
  ];
}

// The secrets are in the URL, as far as there is a choice.
it.each<[string, string[], (keyApi: KeyApi, loginApi: LoginApi) => Promise<unknown>]>([
  ['validatePurchase', [apiKey, code], (keyApi) => keyApi.validatePurchase(code)],
  ['exchange', [appSecret, authKey], (_, loginApi) => loginApi.exchange(authKey)],
  ['getUser', [accessToken, appSecret], (_, loginApi) => loginApi.getUser(accessToken)],
])('an error of %s shows nothing that is repeated to it', async (_name, secrets, ask) => {
  for (const reply of secrets.flatMap(repliesWith)) {
    const keyApi = keyApiOn(() => reply, { validationEncoding: 'query' });
    const call = ask(
      keyApi,
      loginApiOn(() => reply, { authorizeMethod: 'get' }),
    );
    const [end] = await Promise.allSettled([call]);
    expect(end.status).toBe('rejected');
    expectClean(Object(end).reason);
  }
});

const nothing: Answerer = () => json({});
it.each<[string, (keyApi: KeyApi, loginApi: LoginApi) => unknown]>([
  ['a baseUrl that is none', () => keyApiOn(nothing, { baseUrl: apiKey })],
  ['a baseUrl with a name', () => keyApiOn(nothing, { baseUrl: `https://u:${apiKey}@x.test` })],
  ['an apiKey in a list', () => keyApiOn(nothing, { apiKey: [apiKey] })],
  ['an appSecret in a list', () => loginApiOn(nothing, { appSecret: [appSecret] })],
  ['an item id', (keyApi) => keyApi.getItem(apiKey)],
  ['a code that is none', (keyApi) => keyApi.validatePurchase({ code } as never)],
  ['a code to forget', (keyApi) => keyApi.invalidate([code] as never)],
  ['an auth_key that is too long', (_, loginApi) => loginApi.exchange(authKey.repeat(200))],
  ['a token that is none', (_, loginApi) => loginApi.getUser({ value: [accessToken] } as never)],
])('an error about %s shows no secret', async (_what, run) => {
  const call = (async () => run(keyApiOn(nothing), loginApiOn(nothing)))();
  const error = await call.catch((each: unknown) => each);
  expect(error).toBeInstanceOf(Error);
  expectClean(error);
});

it('the clients themselves show no secret in a debugger, a log or JSON, also after a call', async () => {
  const purchase = { purchase_code: code, item: { id: 7, media: {} } };
  const keyApi = keyApiOn(() => json({ status: 'success', data: { purchase } }));
  expect(await keyApi.validatePurchase(code)).toMatchObject({ purchase_code: code });
  const loginApi = loginApiOn(() => json({ access_token: accessToken }));
  expect((await loginApi.exchange(authKey)).value).toBe(accessToken);
  const all = { keyApi, loginApi, list: [keyApi, loginApi] };
  expectClean(all, inspect(all, { showHidden: true, depth: null }), loginApi.loginUrl());
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { KeyApi, LoginApi } from 'marketgate';
import { json, type WireAnswer } from '../../support/service-in-memory.js';
import { account, item, purchase, refusal, success, userInfo } from '../../support/wire.js';
import {
  checkError,
  checkHarmless,
  checkPrototypes,
  ECHOES,
  SECRET,
  secretsOf,
  serviceOf,
  settled,
} from './support/checks.js';
import { fuzz } from './support/fuzz.js';
import { mutated } from './support/mutations.js';
import { wireAnswer } from './support/wire-answer.js';

const KEY_SECRETS = secretsOf('apiKey', 'code');
const LOGIN_SECRETS = secretsOf('appSecret', 'authKey', 'accessToken');
const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;
const MAX_BYTES = 50_000;

/** As real deployments differ from the specification. */
const odd = {
  ...{ ...item, id: '1042', tags: 'a,b', version: null, price: { regular: '29.00' } },
  ...{ published_at: '2020-02-18T07:42:08.000000Z', media: { screenshots: { 0: 'x' } } },
};
const sold = { ...purchase, purchase_code: SECRET.code };
const access_token = SECRET.accessToken;
const BODIES = {
  account: [
    success({ data: account }),
    success({ data: { ...account, balance: '120.50', profile: null } }),
    refusal('Invalid request'),
  ],
  items: [
    success({ items: [item, odd] }),
    { items: { 0: item, 2: odd } },
    refusal('No items found'),
  ],
  item: [success({ item }), { status: 'erfolgreich', item: odd }, refusal('Item Not Found')],
  purchase: [
    success({ data: { purchase: sold } }),
    success({ item: { ...sold, item: odd, supported_until: null } }),
    refusal('Invalid purchase code'),
    { status: 'hata', msg: 'Geçersiz satın alma kodu' },
  ],
  authorize: [
    { access_token },
    { access_token, token_type: 'bearer', expires_in: 3600 },
    { error: true, message: 'Bad Request, invalid auth_key' },
    { message: 'Server Error' },
  ],
  user: [
    { user_info: userInfo },
    { user_info: { ...userInfo, user_id: 77, user_gender: null, profile_picture: 'x.png' } },
    ...[[], { user_info: [] }, { error: true, message: 'expired access_token' }],
  ],
};

const ENDPOINTS = {
  account: { path: '/api/account/details', ask: (api: KeyApi) => api.getAccount() },
  items: { path: '/api/items/all', ask: (api: KeyApi) => api.listItems() },
  item: { path: '/api/items/item', ask: (api: KeyApi) => api.getItem(1042) },
  purchase: {
    path: '/api/purchases/validation',
    ask: (api: KeyApi) => api.validatePurchase(SECRET.code),
  },
} as const;

/** What the client said. @throws when an error is not of the contract's kind, or shows a secret. */
async function answerOf<T>(call: Promise<T>, secrets: typeof KEY_SECRETS) {
  const result = await settled(call);
  if (!('value' in result)) return { code: checkError(result.error, secrets).code };
  checkHarmless(result.value);
  checkPrototypes();
  return { value: result.value };
}

const textIn = ({ bytes }: WireAnswer): string => bytes.toString();

for (const [name, { path, ask }] of Object.entries(ENDPOINTS)) {
  fuzz(
    `answers to ${path} are answers as documented, or errors that show no secret`,
    fc.asyncProperty(
      wireAnswer(mutated(BODIES[name as keyof typeof ENDPOINTS], ECHOES)),
      async (answer) => {
        const service = serviceOf((request) =>
          request.path === path ? answer : json(BODIES.account[0] as object),
        );
        const keyApi = new KeyApi({
          ...{ baseUrl: 'https://market.example', apiKey: SECRET.apiKey, fetch: service.fetch },
          ...{ retries: 0, maxResponseBytes: MAX_BYTES, clock: () => NOW },
        });
        const { value, code } = await answerOf<unknown>(ask(keyApi), KEY_SECRETS);
        await keyApi.close();
        if (code !== undefined) return;
        const { status } = answer;
        if (value === null) {
          assert.match(textIn(answer), /"msg"/, 'the service did not say no');
          assert.ok(status < 500 && ![408, 425, 429].includes(status), `a no by ${status}`);
        } else if (name === 'purchase') {
          const { purchase_code: code, item } = value as typeof purchase;
          const isMasked = /[*\u2026]/.test(code);
          assert.ok(isMasked || code.trim().toLowerCase() === SECRET.code.toLowerCase());
          assert.ok(Number.isSafeInteger(item.id), 'an id that is none');
        } else if (name === 'item') {
          assert.equal((value as typeof item).id, 1042, 'another item');
        }
      },
    ),
  );
}

function clientOf(answer: WireAnswer) {
  const service = serviceOf(() => answer);
  const loginApi = new LoginApi({
    ...{ authUrl: 'https://market.example', appId: 'app-7', appSecret: SECRET.appSecret },
    ...{ fetch: service.fetch, maxResponseBytes: MAX_BYTES, clock: () => NOW, retries: 0 },
  });
  return { loginApi, service };
}

fuzz(
  'answers to /api/authorize are tokens that were sent, or errors that show no secret',
  fc.asyncProperty(wireAnswer(mutated(BODIES.authorize, ECHOES)), async (answer) => {
    const { loginApi, service } = clientOf(answer);
    const { value } = await answerOf(loginApi.exchange(SECRET.authKey), LOGIN_SECRETS);
    assert.equal(service.count('/api/authorize'), 1, 'an auth_key is sent once');
    if (value === undefined) return;
    assert.ok(textIn(answer).includes('access_token'), 'a token that was not sent');
    assert.deepEqual([value.issuedAt, value.expiresAt], [NOW, NOW + HOUR]);
  }),
);

fuzz(
  'answers to /api/get_user_info are users with an id, or errors that show no secret',
  fc.asyncProperty(wireAnswer(mutated(BODIES.user, ECHOES)), async (answer) => {
    const { loginApi } = clientOf(answer);
    const { value } = await answerOf(loginApi.getUser(SECRET.accessToken), LOGIN_SECRETS);
    if (value !== undefined) assert.match(value.user_id, /[^\s\p{C}]/u, 'nobody');
  }),
);

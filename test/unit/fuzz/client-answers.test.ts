import assert from 'node:assert/strict';
import fc from 'fast-check';
import { KeyApi, LoginApi } from 'marketgate';
import { json, ServiceInMemory } from '../../support/service-in-memory.js';
import { account, item, purchase, refusal, success, userInfo } from '../../support/wire.js';
import { answerLike } from './support/answers.js';
import { checkError, checkPrototypes, SECRET, secretsOf, settled } from './support/checks.js';
import { fuzz } from './support/fuzz.js';

const KEY_SECRETS = secretsOf('apiKey', 'code');
const LOGIN_SECRETS = secretsOf('appSecret', 'authKey', 'accessToken');
const NOW = 1_800_000_000_000;

/** As real deployments differ from the specification. */
const odd = {
  ...{ ...item, id: '1042', tags: 'a,b', version: null, price: { regular: '29.00' } },
  ...{ published_at: '2020-02-18T07:42:08.000000Z', media: { screenshots: { 0: 'x' } } },
};
const sold = { ...purchase, purchase_code: SECRET.code };
const access_token = SECRET.accessToken;

/** By path: the bodies of real services, and the call that gets them. */
const ENDPOINTS: Record<
  string,
  { bodies: unknown[]; ask: (keyApi: KeyApi, loginApi: LoginApi) => Promise<unknown> }
> = {
  '/api/account/details': {
    bodies: [
      success({ data: { ...account, balance: '120.50', profile: null } }),
      refusal('Invalid request'),
    ],
    ask: (keyApi) => keyApi.getAccount(),
  },
  '/api/items/all': {
    bodies: [success({ items: [item, odd] }), { items: { 0: item, 2: odd } }],
    ask: (keyApi) => keyApi.listItems(),
  },
  '/api/items/item': {
    bodies: [success({ item }), { status: 'erfolgreich', item: odd }, refusal('Item Not Found')],
    ask: (keyApi) => keyApi.getItem(1042),
  },
  '/api/purchases/validation': {
    bodies: [
      success({ data: { purchase: sold } }),
      success({ item: { ...sold, item: odd, supported_until: null } }),
      refusal('Invalid purchase code'),
      { status: 'hata', msg: 'Geçersiz satın alma kodu' },
    ],
    ask: (keyApi) => keyApi.validatePurchase(SECRET.code),
  },
  '/api/authorize': {
    bodies: [
      { access_token, token_type: 'bearer', expires_in: 3600 },
      { error: true, message: 'Bad Request, invalid auth_key' },
    ],
    ask: (_, loginApi) => loginApi.exchange(SECRET.authKey),
  },
  '/api/get_user_info': {
    bodies: [
      { user_info: { ...userInfo, user_id: 77, user_gender: null, profile_picture: 'x.png' } },
      ...[[], { user_info: [] }, { error: true, message: 'expired access_token' }],
    ],
    ask: (_, loginApi) => loginApi.getUser(SECRET.accessToken),
  },
};

/** What an answer to a call may be, given the bytes that came. */
function checkValue(path: string, value: unknown, status: number, sent: string): void {
  if (value === null) {
    assert.match(sent, /"msg"/, 'the service did not say no');
    assert.ok(status < 500 && ![408, 429].includes(status), `a no by ${status}`);
  } else if (path.endsWith('validation')) {
    const { purchase_code: code, item } = value as typeof purchase;
    assert.ok(/[*\u2026]/.test(code) || code.trim().toLowerCase() === SECRET.code);
    assert.ok(Number.isSafeInteger(item.id), 'an id that is none');
  } else if (path.endsWith('item')) {
    assert.equal((value as typeof item).id, 1042, 'another item');
  } else if (path.endsWith('authorize')) {
    assert.ok(sent.includes('access_token'), 'a token that was not sent');
    assert.equal((value as { issuedAt: number }).issuedAt, NOW);
  } else if (path.endsWith('info')) {
    assert.match((value as typeof userInfo).user_id, /[^\s\p{C}]/u, 'nobody');
  }
}

for (const [path, { bodies, ask }] of Object.entries(ENDPOINTS)) {
  fuzz(
    `answers to ${path} are answers as documented, or errors that show no secret`,
    fc.asyncProperty(answerLike(bodies), async (answer) => {
      const known = json(success({ data: account }));
      // Unknown to the sweep for secrets, as these tests look for theirs themselves.
      const service = new ServiceInMemory((request) => (request.path === path ? answer : known), {
        isSwept: false,
      });
      const options = { fetch: service.fetch, retries: 0, clock: () => NOW };
      const url = 'https://market.example';
      const keyApi = new KeyApi({ baseUrl: url, apiKey: SECRET.apiKey, ...options });
      const app = { appId: 'app-7', appSecret: SECRET.appSecret };
      const loginApi = new LoginApi({ authUrl: url, ...app, ...options });
      const { error, ...result } = await settled(ask(keyApi, loginApi));
      await keyApi.close();
      checkPrototypes();
      const secrets = /authorize|user/.test(path) ? LOGIN_SECRETS : KEY_SECRETS;
      if (error !== undefined) checkError(error, secrets);
      else checkValue(path, Object(result).value, answer.status, answer.bytes.toString());
    }),
  );
}

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { KeyApi, LoginApi } from 'marketgate';
import { type AnswerRow, answerOf } from '../../oracle/answer-row.js';
import { KEY_API_ROWS, KEY_ENDPOINTS } from '../../oracle/key-api-rows.js';
import { LOGIN_API_ROWS, LOGIN_ENDPOINTS } from '../../oracle/login-api-rows.js';
import { json, ServiceInMemory } from '../../support/service-in-memory.js';
import { account, CODE, type item, type purchase, success } from '../../support/wire.js';
import { answerLike } from './support/answers.js';
import { checkError, checkPrototypes, SECRET, secretsOf, settled } from './support/checks.js';
import { fuzz } from './support/fuzz.js';

const KEY_SECRETS = secretsOf('apiKey', 'code');
const LOGIN_SECRETS = secretsOf('appSecret', 'authKey', 'accessToken');
const NOW = 1_800_000_000_000;

/** The bodies of the oracle for an endpoint: every other one is the payload. */
function bodiesOf<E extends string>(rows: readonly AnswerRow<E>[], endpoint: E): string[] {
  const bodies = rows
    .filter(({ ends }) => endpoint in ends)
    .map((row) => answerOf(row, endpoint, 200).bytes.toString().replaceAll(CODE, SECRET.code));
  return bodies.flatMap((body) => [bodies[0] ?? '', body]);
}
const keyBodies = (endpoint: keyof typeof KEY_ENDPOINTS) => bodiesOf(KEY_API_ROWS, endpoint);
const loginBodies = (endpoint: keyof typeof LOGIN_ENDPOINTS) => bodiesOf(LOGIN_API_ROWS, endpoint);

type Ask = (keyApi: KeyApi, loginApi: LoginApi) => Promise<unknown>;
const { account: details, items, item: one, purchase: validation } = KEY_ENDPOINTS;
const { authorize, user } = LOGIN_ENDPOINTS;

/** What an answer to a call may be, given the bytes that came. */
function checkValue(path: string, value: unknown, status: number, sent: string): void {
  if (value === null) {
    assert.match(sent, /"msg"/, 'the service did not say no');
    assert.ok(status < 500 && ![408, 429].includes(status), `a no by ${status}`);
  } else if (path === validation.path) {
    const { purchase_code: code, item } = value as typeof purchase;
    assert.ok(/[*\u2026]/.test(code) || code.trim().toLowerCase() === SECRET.code);
    assert.ok(Number.isSafeInteger(item.id), 'an id that is none');
  } else if (path === one.path) {
    assert.equal((value as typeof item).id, 1042, 'another item');
  } else if (path === authorize.path) {
    assert.ok(sent.includes('access_token'), 'a token that was not sent');
    assert.equal((value as { issuedAt: number }).issuedAt, NOW);
  } else if (path === user.path) {
    assert.match((value as { user_id: string }).user_id, /[^\s\p{C}]/u, 'nobody');
  }
}

const CALLS: readonly [path: string, bodies: string[], ask: Ask, secrets: typeof KEY_SECRETS][] = [
  [details.path, keyBodies('account'), (keyApi) => keyApi.getAccount(), KEY_SECRETS],
  [items.path, keyBodies('items'), (keyApi) => keyApi.listItems(), KEY_SECRETS],
  [one.path, keyBodies('item'), (keyApi) => keyApi.getItem(1042), KEY_SECRETS],
  [validation.path, keyBodies('purchase'), (api) => api.validatePurchase(SECRET.code), KEY_SECRETS],
  [
    authorize.path,
    loginBodies('authorize'),
    (_, api) => api.exchange(SECRET.authKey),
    LOGIN_SECRETS,
  ],
  [user.path, loginBodies('user'), (_, api) => api.getUser(SECRET.accessToken), LOGIN_SECRETS],
];

for (const [path, bodies, ask, secrets] of CALLS) {
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
      if (error !== undefined) checkError(error, secrets);
      else checkValue(path, Object(result).value, answer.status, answer.bytes.toString());
    }),
  );
}

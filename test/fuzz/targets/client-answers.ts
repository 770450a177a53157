import assert from 'node:assert/strict';
import fc from 'fast-check';
import { KeyApi, LoginApi } from 'marketgate';
import { KEY_ENDPOINTS, type KeyEndpoint } from '../../oracle/key-api-rows.js';
import { json, type WireAnswer } from '../../support/service-in-memory.js';
import {
  checkError,
  checkHarmless,
  checkPause,
  checkPrototypes,
  ECHOES,
  SECRET,
  secretsOf,
  serviceOf,
  settled,
} from '../support/checks.js';
import { type Target, target } from '../support/fuzz.js';
import { mutated } from '../support/mutations.js';
import type { RealAnswers } from '../support/real-answers.js';
import { wireAnswer } from '../support/wire-answer.js';

/*
 * What must hold of every answer, however it is damaged. What each kind of answer means is in the rows of `test/oracle`.
 */

const ASK: Readonly<Record<KeyEndpoint, (keyApi: KeyApi) => Promise<unknown>>> = {
  account: (keyApi) => keyApi.getAccount(),
  items: (keyApi) => keyApi.listItems(),
  item: (keyApi) => keyApi.getItem(1042),
  purchase: (keyApi) => keyApi.validatePurchase(SECRET.code),
};

const MAX_BYTES = 256 * 1024;
const CACHES = [false, { max: 4, maxInvalid: 4 }] as const;
const ENCODINGS = ['form', 'json', 'query'] as const;
const KEY_SECRETS = secretsOf('apiKey', 'code');
const NOW = 1_800_000_000_000;

export const keyApiAnswers = (real: RealAnswers): Target[] =>
  (Object.keys(KEY_ENDPOINTS) as KeyEndpoint[]).map((endpoint) =>
    target(`key-api:${endpoint}`, `answers to ${KEY_ENDPOINTS[endpoint].path}`, () =>
      fc.asyncProperty(
        wireAnswer(mutated(real[endpoint], ECHOES)),
        fc.constantFrom(...CACHES),
        fc.constantFrom(...ENCODINGS),
        async (answer, cache, validationEncoding) => {
          await checkKeyAnswer(endpoint, answer, { cache, validationEncoding }, real);
        },
      ),
    ),
  );

async function checkKeyAnswer(
  endpoint: KeyEndpoint,
  answer: WireAnswer,
  options: Pick<ConstructorParameters<typeof KeyApi>[0], 'cache' | 'validationEncoding'>,
  real: RealAnswers,
): Promise<void> {
  const service = serviceOf(({ path }) =>
    path === KEY_ENDPOINTS[endpoint].path ? answer : json(real.account[0]),
  );
  const keyApi = new KeyApi({
    baseUrl: 'https://market.example',
    apiKey: SECRET.apiKey,
    dispatcher: service,
    retries: 0,
    maxResponseBytes: MAX_BYTES,
    clock: () => NOW,
    ...options,
  });
  const result = await settled(ASK[endpoint](keyApi));
  checkPrototypes();
  if (!('value' in result)) {
    checkError(result.error, KEY_SECRETS);
    if (mustPause(answer)) {
      await checkPause(service, KEY_SECRETS, () => keyApi.getItem(7, { fresh: true }));
    }
  } else if (result.value === null || isEmptyList(result.value)) {
    assert.ok(isRefusal(answer), 'a negative answer that the service did not give');
  } else {
    const value = result.value as Record<string, unknown> & unknown[];
    checkHarmless(value);
    // What is frozen cannot be changed under another request's hands.
    if (options.cache) assert.ok(Object.isFrozen(value));
    if (endpoint === 'item') assert.equal(value.id, 1042, 'another item');
    if (endpoint === 'purchase' && !/[*…]/.test(String(value.purchase_code))) {
      assert.equal(String(value.purchase_code).trim().toLowerCase(), SECRET.code, 'another code');
    }
    if (endpoint === 'account') assert.ok(String(value.username).trim() !== '');
  }
  await keyApi.close();
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Whether an answer can be a negative one at all: JSON of the service that refuses, or is an empty list. */
function isRefusal({ status, bytes }: WireAnswer): boolean {
  if (status >= 500 || [408, 425, 429].includes(status) || (status >= 300 && status < 400))
    return false;
  const body = JSON.parse(bytes.toString().trimStart());
  if (isEmptyList(body.items)) return true;
  return (
    typeof body.msg === 'string' &&
    typeof body.status === 'string' &&
    body.status.toLowerCase() !== 'success'
  );
}

/** Whether the service asks to be left alone for sure. */
function mustPause({ status, headers }: WireAnswer): boolean {
  const [retryAfter] = [headers['retry-after']].flat();
  const isSeconds = /^[1-9]\d{0,9}$/.test(retryAfter ?? '');
  return (
    (status === 429 && (isSeconds || retryAfter === undefined)) || (status === 503 && isSeconds)
  );
}

const LOGIN_SECRETS = secretsOf('appSecret', 'authKey', 'accessToken');
const HOUR = 3_600_000;
const METHODS = ['post', 'get'] as const;

function clientOf(answer: WireAnswer, authorizeMethod: 'post' | 'get') {
  const service = serviceOf(() => answer);
  const loginApi = new LoginApi({
    authUrl: 'https://market.example',
    appId: 'app-7',
    appSecret: SECRET.appSecret,
    authorizeMethod,
    dispatcher: service,
    maxResponseBytes: MAX_BYTES,
    clock: () => NOW,
    retries: 0,
  });
  return { loginApi, service };
}

export const loginApiAnswers = (real: RealAnswers): Target[] => [
  target('login-api:exchange', 'answers to /api/authorize', () =>
    fc.asyncProperty(
      wireAnswer(mutated(real.authorize, ECHOES)),
      fc.constantFrom(...METHODS),
      async (answer, method) => {
        const { loginApi, service } = clientOf(answer, method);
        const result = await settled(loginApi.exchange(SECRET.authKey));
        assert.equal(service.requests.length, 1, 'an auth_key is sent once');
        if ('value' in result) {
          const { value, issuedAt, expiresAt } = result.value;
          assert.ok(value.trim() !== '');
          assert.deepEqual([issuedAt, expiresAt], [NOW, NOW + HOUR]);
          return;
        }
        checkError(result.error, LOGIN_SECRETS);
        if (mustPause(answer)) {
          await checkPause(service, LOGIN_SECRETS, () => loginApi.getUser(SECRET.accessToken));
        }
        checkPrototypes();
      },
    ),
  ),
  target('login-api:user', 'answers to /api/get_user_info', () =>
    fc.asyncProperty(wireAnswer(mutated(real.user, ECHOES)), async (answer) => {
      const { loginApi, service } = clientOf(answer, 'post');
      const result = await settled(loginApi.getUser(SECRET.accessToken));
      if ('value' in result) {
        checkHarmless(result.value);
        assert.ok(typeof result.value.user_id === 'string' && result.value.user_id !== '');
      } else {
        checkError(result.error, LOGIN_SECRETS);
        if (!mustPause(answer)) return;
        await checkPause(service, LOGIN_SECRETS, () => loginApi.getUser(SECRET.accessToken));
      }
      checkPrototypes();
    }),
  ),
];

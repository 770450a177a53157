import assert from 'node:assert/strict';
import fc from 'fast-check';
import { KeyApi, LoginApi } from 'marketgate';
import { type End, MAX_BYTES, mustPause } from '../../oracle/answers.js';
import { judgeKeyApi } from '../../oracle/key-api.js';
import { KEY_ENDPOINTS, type KeyEndpoint } from '../../oracle/key-api-rows.js';
import { judgeLoginApi } from '../../oracle/login-api.js';
import { type Reading, readsAsTimestamp } from '../../oracle/shapes.js';
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

const ASK: Readonly<Record<KeyEndpoint, (keyApi: KeyApi) => Promise<unknown>>> = {
  account: (keyApi) => keyApi.getAccount(),
  items: (keyApi) => keyApi.listItems(),
  item: (keyApi) => keyApi.getItem(1042),
  purchase: (keyApi) => keyApi.validatePurchase(SECRET.code),
};

const ASKED: Readonly<Partial<Record<KeyEndpoint, string | number>>> = {
  item: 1042,
  purchase: SECRET.code,
};

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
          await judged(endpoint, answer, { cache, validationEncoding }, real);
        },
      ),
    ),
  );

async function judged(
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
  const { ends, value } = judgeKeyApi(endpoint, answer, ASKED[endpoint]);
  const result = await settled(ASK[endpoint](keyApi));
  const got = endOf(endpoint, result);
  assert.ok(ends.includes(got), `the contract says ${ends.join(' or ')}, it was ${got}`);
  if ('value' in result && got === 'positive') {
    checkHarmless(result.value);
    if (value !== undefined) checkAnswer(endpoint, result.value, value);
    // What is frozen cannot be changed under another request's hands.
    if (options.cache && endpoint !== 'items') assert.ok(Object.isFrozen(result.value));
  }
  checkPrototypes();

  const pause = mustPause(answer, NOW);
  if (pause === undefined || got === 'positive' || got === 'negative') return;
  const askAgain = () => keyApi.getItem(7, { fresh: true });
  if (pause) await checkPause(service, KEY_SECRETS, askAgain);
  else {
    const sent = service.requests.length;
    await settled(askAgain());
    assert.ok(service.requests.length > sent, 'nobody asked for a pause');
  }
  await keyApi.close();
}

function endOf(endpoint: KeyEndpoint, result: { value: unknown } | { error: unknown }): End {
  if (!('value' in result)) return checkError(result.error, KEY_SECRETS).code;
  const isNegative = endpoint === 'items' ? isEmptyList(result.value) : result.value === null;
  return isNegative ? 'negative' : 'positive';
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** What was documented comes as it was sent, and of the rest what guards compare. */
function checkAnswer(endpoint: KeyEndpoint, got: unknown, sent: unknown): void {
  if (endpoint === 'items') {
    assert.equal((got as unknown[]).length, (sent as unknown[]).length, 'an item got lost');
    return;
  }
  const before = sent as Record<string, unknown>;
  const after = got as Record<string, unknown>;
  for (const name of ['id', 'username', 'purchase_code']) {
    if (name in after) assert.equal(String(after[name]), String(before[name]), name);
  }
  // What is of the documented kind comes as it was sent, and nothing else does.
  for (const [name, kind] of Object.entries(OPTIONAL)) {
    const isAsDocumented = kind(before[name]);
    if (isAsDocumented === 'yes') assert.equal(after[name], before[name], name);
    if (isAsDocumented === 'no') assert.ok(after[name] !== before[name] || !(name in after), name);
    if (name in after) assert.notEqual(kind(after[name]), 'no', name);
  }
  const item = before.item as { id?: unknown } | undefined;
  if (endpoint === 'purchase') {
    assert.equal((after.item as { id: unknown }).id, Number(item?.id), 'another item');
  }
}

const ofType =
  (type: string) =>
  (value: unknown): Reading =>
    typeof value === type && Number.isFinite(value ?? Number.NaN) === (type === 'number')
      ? 'yes'
      : 'no';

/** Fields that may be absent, and what is of their kind. */
const OPTIONAL: Readonly<Record<string, (value: unknown) => Reading>> = {
  license_type: ofType('string'),
  description: ofType('string'),
  email: ofType('string'),
  currency: ofType('string'),
  balance: ofType('number'),
  downloaded: ofType('boolean'),
  ...Object.fromEntries(
    ['supported_until', 'date', 'published_at', 'registered_at'].map((name) => [
      name,
      (value: unknown) => (typeof value === 'string' ? readsAsTimestamp(value) : 'no'),
    ]),
  ),
};

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
        const { ends, value } = judgeLoginApi('authorize', answer);
        const result = await settled(loginApi.exchange(SECRET.authKey));
        const got = 'value' in result ? 'positive' : checkError(result.error, LOGIN_SECRETS).code;
        assert.ok(ends.includes(got), `the contract says ${ends.join(' or ')}, not ${got}`);
        assert.equal(service.requests.length, 1, 'an auth_key is sent once');
        if ('value' in result) {
          const { value: token, issuedAt, expiresAt } = result.value;
          if (value !== undefined) assert.equal(token, value);
          assert.deepEqual([issuedAt, expiresAt], [NOW, NOW + HOUR]);
        } else if (mustPause(answer, NOW) === true) {
          await checkPause(service, LOGIN_SECRETS, () => loginApi.getUser(SECRET.accessToken));
        }
        checkPrototypes();
      },
    ),
  ),
  target('login-api:user', 'answers to /api/get_user_info', () =>
    fc.asyncProperty(wireAnswer(mutated(real.user, ECHOES)), async (answer) => {
      const { loginApi, service } = clientOf(answer, 'post');
      const { ends, value } = judgeLoginApi('user', answer);
      const result = await settled(loginApi.getUser(SECRET.accessToken));
      const got = 'value' in result ? 'positive' : checkError(result.error, LOGIN_SECRETS).code;
      assert.ok(ends.includes(got), `the contract says ${ends.join(' or ')}, not ${got}`);
      if ('value' in result) {
        checkHarmless(result.value);
        assert.ok(typeof result.value.user_id === 'string' && result.value.user_id !== '');
        const sent = (value as { user_id?: unknown } | undefined)?.user_id;
        if (sent !== undefined) assert.equal(result.value.user_id, String(sent));
      } else if (mustPause(answer, NOW) === true) {
        await checkPause(service, LOGIN_SECRETS, () => loginApi.getUser(SECRET.accessToken));
      }
      checkPrototypes();
    }),
  ),
];

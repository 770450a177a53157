import assert from 'node:assert/strict';
import fc from 'fast-check';
import { LoginApi } from 'marketgate';
import { MAX_BYTES, mustPause } from '../../oracle/answers.js';
import { judgeLoginApi } from '../../oracle/login-api.js';
import type { WireAnswer } from '../../support/service-in-memory.js';
import {
  checkError,
  checkHarmless,
  checkPause,
  checkPrototypes,
  ECHOES,
  SECRET,
  secretsOf,
  settled,
} from '../support/checks.js';
import { type Target, target } from '../support/fuzz.js';
import { mutated } from '../support/mutations.js';
import type { RealAnswers } from '../support/real-answers.js';
import { ServiceInMemory } from '../support/service-in-memory.js';
import { wireAnswer } from '../support/wire-answer.js';

const SECRETS = secretsOf('appSecret', 'authKey', 'accessToken');
const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;
const METHODS = ['post', 'get'] as const;

function clientOf(answer: WireAnswer, authorizeMethod: 'post' | 'get') {
  const service = new ServiceInMemory(() => answer);
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

/** Both calls of LoginApi against answers made from real ones. */
export const loginApiAnswers = (real: RealAnswers): Target[] => [
  target('login-api:exchange', 'answers to /api/authorize', () =>
    fc.asyncProperty(
      wireAnswer(mutated(real.authorize, ECHOES)),
      fc.constantFrom(...METHODS),
      async (answer, method) => {
        const { loginApi, service } = clientOf(answer, method);
        const { ends, value } = judgeLoginApi('authorize', answer);
        const result = await settled(loginApi.exchange(SECRET.authKey));
        const got = 'value' in result ? 'positive' : checkError(result.error, SECRETS).code;
        assert.ok(ends.includes(got), `the contract says ${ends.join(' or ')}, not ${got}`);
        assert.equal(service.requests.length, 1, 'an auth_key is sent once');
        if ('value' in result) {
          const { value: token, issuedAt, expiresAt } = result.value;
          if (value !== undefined) assert.equal(token, value);
          assert.deepEqual([issuedAt, expiresAt], [NOW, NOW + HOUR]);
        } else if (mustPause(answer, NOW) === true) {
          await checkPause(service, SECRETS, () => loginApi.getUser(SECRET.accessToken));
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
      const got = 'value' in result ? 'positive' : checkError(result.error, SECRETS).code;
      assert.ok(ends.includes(got), `the contract says ${ends.join(' or ')}, not ${got}`);
      if ('value' in result) {
        checkHarmless(result.value);
        assert.ok(typeof result.value.user_id === 'string' && result.value.user_id !== '');
        const sent = (value as { user_id?: unknown } | undefined)?.user_id;
        if (sent !== undefined) assert.equal(result.value.user_id, String(sent));
      } else if (mustPause(answer, NOW) === true) {
        await checkPause(service, SECRETS, () => loginApi.getUser(SECRET.accessToken));
      }
      checkPrototypes();
    }),
  ),
];

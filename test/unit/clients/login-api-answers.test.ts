import type { LoginApi } from 'marketgate';
import { expect, it } from 'vitest';
import { answerOf } from '../../oracle/answer-row.js';
import {
  LOGIN_API_ROWS,
  LOGIN_ENDPOINTS,
  type LoginEndpoint,
} from '../../oracle/login-api-rows.js';
import { everythingOf } from '../../support/errors.js';
import { userInfo } from '../../support/wire.js';
import { AUTH_KEY, serving, TOKEN } from './login-support.js';

const CALLS: Record<LoginEndpoint, (client: LoginApi) => Promise<unknown>> = {
  authorize: (client) => client.exchange(AUTH_KEY),
  user: (client) => client.getUser(TOKEN),
};
const VALUES = { authorize: { value: TOKEN }, user: userInfo };

const cells = LOGIN_API_ROWS.flatMap(({ name, ...row }) =>
  Object.entries(row.ends).map(
    ([endpoint, end]) => [name, endpoint as LoginEndpoint, end, { name, ...row }] as const,
  ),
);

it.each(cells)('an answer of the login API, %s: %s is %s', async (_name, endpoint, end, row) => {
  for (const status of row.statuses) {
    const answer = answerOf(row, endpoint, status);
    const { loginApi } = serving(() => answer);
    const result = await CALLS[endpoint](loginApi).then(
      (value) => ({ value }),
      (error) => ({ error }),
    );
    if ('error' in result) {
      expect([result.error.code, status]).toEqual([end, status]);
      expect(result.error.message).toMatch(
        new RegExp(`^(GET|POST) ${LOGIN_ENDPOINTS[endpoint].path}: `),
      );
      expect(result.error.message).toMatch(row.says ?? /./);
      expect(everythingOf(result.error)).not.toContain(TOKEN);
    } else {
      expect(end).toBe('positive');
      expect(result.value).toMatchObject(VALUES[endpoint]);
    }
  }
});

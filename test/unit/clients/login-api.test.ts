import { LoginApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { answerOf, pairsOf } from '../../oracle/answer-row.js';
import { LOGIN_API_ROWS, LOGIN_ENDPOINTS } from '../../oracle/login-api-rows.js';
import { everythingOf, expectError, rejection } from '../../support/errors.js';
import { type Answerer, json, text } from '../../support/service-in-memory.js';
import { userInfo } from '../../support/wire.js';
import { AUTH_KEY, HOUR, SECRET, serving, TOKEN } from './login-support.js';

const giveToken: Answerer = () => json({ access_token: TOKEN });
const giveUser: Answerer = () => json({ user_info: userInfo });

const rows = LOGIN_API_ROWS.map((row) => [row.name, row] as const);

it.each(rows)('an answer of the login API, %s, ends as the oracle says', async (_name, row) => {
  for (const { endpoint, end, status } of pairsOf(row)) {
    const { loginApi } = serving(() => answerOf(row, endpoint, status));
    const call: Promise<object> =
      endpoint === 'user' ? loginApi.getUser(TOKEN) : loginApi.exchange(AUTH_KEY);
    if (end === 'positive') {
      expect(await call).toMatchObject(endpoint === 'user' ? userInfo : { value: TOKEN });
      continue;
    }
    const error = await rejection(call);
    expect([endpoint, status, error.code]).toEqual([endpoint, status, end]);
    expect(error.message).toMatch(new RegExp(`^(GET|POST) ${LOGIN_ENDPOINTS[endpoint].path}: `));
    expect(error.message).toMatch(row.says ?? /./);
    expect(everythingOf(error)).not.toContain(TOKEN);
  }
});

it('loginUrl carries the app_id, encoded and without blanks around it, and no other parameter', () => {
  const options = { authUrl: 'https://market.example/x/', appId: ' a b&c=d\ufeff', appSecret: 's' };
  const url = new URL(new LoginApi(options).loginUrl());
  expect(url.pathname).toBe('/x/api/oauth');
  expect([...url.searchParams]).toEqual([['app_id', 'a b&c=d']]);
});

describe('exchange', () => {
  it.each([undefined, 'get'] as const)(
    'sends a form, or a query where a deployment takes only that: %s',
    async (authorizeMethod) => {
      const { loginApi, service } = serving(giveToken, { authorizeMethod });
      await loginApi.exchange(AUTH_KEY);
      const [{ method, path, headers, body, query } = Object({})] = service.requests;
      const type = 'application/x-www-form-urlencoded';
      const how = authorizeMethod === 'get' ? ['GET', undefined, ''] : ['POST', type, body];
      expect([method, headers['content-type'], body]).toEqual(how);
      expect([path, query.size]).toEqual(['/api/authorize', authorizeMethod ? 3 : 0]);
      const sent = { app_id: 'app 7&x', app_secret: SECRET, auth_key: AUTH_KEY };
      expect(Object.fromEntries(new URLSearchParams(body || query))).toEqual(sent);
    },
  );

  it.each([
    [undefined, HOUR],
    [60_000, 60_000],
  ])('gives a token of tokenLifetime %s, counted from before the request', async (given, life) => {
    let now = 1000;
    const answer: Answerer = (...request) => {
      now = 1500;
      return giveToken(...request);
    };
    const { loginApi } = serving(answer, { clock: () => now, tokenLifetime: given });
    const times = { issuedAt: 1000, expiresAt: 1000 + life };
    expect(await loginApi.exchange(AUTH_KEY)).toEqual({ value: TOKEN, ...times });
  });

  it.each([undefined, ' ', 7, ['a']])('of %j, no auth_key, makes no request', async (authKey) => {
    const { loginApi, service } = serving(giveToken);
    const call = loginApi.exchange(authKey as string);
    await expectError(call, 'auth_key_rejected', 'auth_key must be a non-empty string');
    expect(service.count()).toBe(0);
  });
});

describe('getUser', () => {
  const token = { value: TOKEN, issuedAt: 0, expiresAt: HOUR };

  it.each([TOKEN, token])('asks with %j', async (given) => {
    const { loginApi, service } = serving(giveUser, { clock: () => HOUR - 1 });
    expect(await loginApi.getUser(given)).toEqual(userInfo);
    expect(service.requests[0]).toMatchObject({ method: 'GET', path: '/api/get_user_info' });
    expect([...(service.requests[0]?.query ?? [])]).toEqual([['access_token', TOKEN]]);
  });

  it('makes no request with an expired token, and says how long one lives', async () => {
    const { loginApi, service } = serving(giveUser, { clock: () => HOUR, tokenLifetime: 120_000 });
    await expectError(loginApi.getUser(token), 'access_token_expired', '2 minutes');
    expect(service.count()).toBe(0);
  });

  it.each<unknown>([
    ...[undefined, ' ', 7, { ...token, value: '' }, { ...token, expiresAt: '2030-01-01' }],
  ])('of %j, no token, is a TypeError, and makes no request', async (given) => {
    const { loginApi, service } = serving(giveUser, { clock: () => 1 });
    const message = expect.stringMatching(/^LoginApi: token must be an AccessToken/);
    const call = loginApi.getUser(given as string);
    await expect(call).rejects.toMatchObject({ name: 'TypeError', message });
    expect(service.count()).toBe(0);
  });

  // As text, because JSON.stringify would write other digits.
  it.each(['9007199254740993', '1e999'])('does not take the user_id %s', async (id) => {
    const sent = JSON.stringify({ user_info: userInfo }).replace('"77"', id);
    const { loginApi } = serving(() => text(sent));
    await expectError(loginApi.getUser(TOKEN), 'unexpected_response', 'user_info.user_id: ');
  });
});

it('an error of exchange or getUser repeats nothing that was sent, also ordinary words', async () => {
  const message = 'What are tulip and open sesame?';
  const { loginApi } = serving(() => json({ error: true, message }), { appSecret: 'open sesame' });
  for (const call of [loginApi.exchange('tulip'), loginApi.getUser('tulip')]) {
    expect((await rejection(call)).message).toContain('What are [redacted] and [redacted]?');
  }
});

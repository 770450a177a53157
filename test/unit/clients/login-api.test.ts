import { getEventListeners } from 'node:events';
import { LoginApi, type LoginApiOptions } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { type Answerer, json, page, text } from '../../support/service-in-memory.js';
import { userInfo } from '../../support/wire.js';
import { AUTH_KEY, HOUR, SECRET, serving, TOKEN } from './login-support.js';

const BASE = 'https://market.example';
const good = { authUrl: BASE, appId: 'a', appSecret: 's' };

const giveToken: Answerer = () => json({ access_token: TOKEN });
const giveUser: Answerer = () => json({ user_info: userInfo });

describe('options of LoginApi', () => {
  it.each<[string, object]>([
    ['authUrl', { authUrl: 'nowhere' }],
    ['appId', { appId: '' }],
    ['appId', { appId: 7 }],
    ['appSecret', { appSecret: undefined }],
    ['appSecret', { appSecret: '' }],
    ['tokenLifetime', { tokenLifetime: 0 }],
    ['authorizeMethod', { authorizeMethod: 'PUT' }],
    ['timeout', { timeout: -1 }],
    ['timeout', { timeout: 0 }],
    ['appKey', { appKey: 'x' }],
  ])('a wrong %s is a TypeError that names it, and whose it is', (name, options) => {
    const make = (): LoginApi => new LoginApi({ ...good, ...options } as LoginApiOptions);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(new RegExp(`^LoginApi: .*"${name}"`));
  });

  it('a wrong duration is a TypeError that names its unit', () => {
    expect(() => new LoginApi({ ...good, tokenLifetime: -1 })).toThrow('milliseconds');
  });
});

it('loginUrl carries the app_id, encoded, and no other parameter', () => {
  const loginApi = new LoginApi({ ...good, authUrl: `${BASE}/x/`, appId: 'a b&c=d' });
  const url = new URL(loginApi.loginUrl());
  expect(url.pathname).toBe('/x/api/oauth');
  expect([...url.searchParams]).toEqual([['app_id', 'a b&c=d']]);
});

describe('exchange', () => {
  const parameters = { app_id: 'app 7&x', app_secret: SECRET, auth_key: AUTH_KEY };

  it.each([undefined, 'post'] as const)('posts a form with method %s', async (authorizeMethod) => {
    const { loginApi, service } = serving(giveToken, { authorizeMethod });
    await loginApi.exchange(AUTH_KEY);
    const [request] = service.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/api/authorize' });
    expect(request?.query.size).toBe(0);
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual(parameters);
  });

  it('sends them in the query of a GET where a deployment takes only that', async () => {
    const { loginApi, service } = serving(giveToken, { authorizeMethod: 'get' });
    await loginApi.exchange(AUTH_KEY);
    expect(service.requests[0]).toMatchObject({ method: 'GET', body: '' });
    expect(Object.fromEntries(service.requests[0]?.query ?? [])).toEqual(parameters);
  });

  it.each([
    [undefined, HOUR],
    [60_000, 60_000],
  ])('gives a token of tokenLifetime %s, counted from before the request', async (given, life) => {
    let now = 1000;
    const { loginApi } = serving(
      (...request) => {
        now = 1500;
        return giveToken(...request);
      },
      { clock: () => now, tokenLifetime: given },
    );
    const times = { issuedAt: 1000, expiresAt: 1000 + life };
    expect(await loginApi.exchange(AUTH_KEY)).toEqual({ value: TOKEN, ...times });
  });

  it.each([undefined, null, '', ' ', 7, ['a'], 'x'.repeat(2049)])(
    'of %j, which is no auth_key, makes no request, and does not repeat it',
    async (authKey) => {
      const { loginApi, service } = serving(giveToken);
      const error = await rejection(loginApi.exchange(authKey as string));
      expect(error.code).toBe('auth_key_rejected');
      expect(error.message).toContain('auth_key must be a non-empty string');
      expect(error.message).not.toContain('xxx');
      expect(service.count()).toBe(0);
    },
  );

  it('is not sent again after a failure, because an auth_key works once', async () => {
    const { loginApi, service } = serving(() => page(502), { retries: 2 });
    await expectError(loginApi.exchange(AUTH_KEY), 'service_unavailable');
    expect(service.count()).toBe(1);
  });

  it('takes an auth_key of 2,048 characters', async () => {
    const { loginApi } = serving(giveToken);
    expect((await loginApi.exchange('x'.repeat(2048))).value).toBe(TOKEN);
  });
});

describe('getUser', () => {
  const token = { value: TOKEN, issuedAt: 0, expiresAt: HOUR };

  it.each([
    ['the value of a token', TOKEN],
    ['an AccessToken', token],
  ])('asks with %s', async (_name, given) => {
    const { loginApi, service } = serving(giveUser, { clock: () => HOUR - 1 });
    expect(await loginApi.getUser(given)).toEqual(userInfo);
    expect(service.requests[0]).toMatchObject({ method: 'GET', path: '/api/get_user_info' });
    expect([...(service.requests[0]?.query ?? [])]).toEqual([['access_token', TOKEN]]);
  });

  it('makes no request with an expired token, and says how long one lives', async () => {
    const { loginApi, service } = serving(giveUser, { clock: () => HOUR, tokenLifetime: 120_000 });
    const error = await rejection(loginApi.getUser(token));
    expect(error).toMatchObject({ code: 'access_token_expired', status: 401 });
    expect(error.message).toContain('2 minutes');
    expect(service.count()).toBe(0);
  });

  it.each<unknown>([
    ...[undefined, null, '', ' ', 7, {}, { ...token, value: '' }, { ...token, value: 7 }],
    ...[
      { issuedAt: 0, expiresAt: HOUR },
      { value: TOKEN, expiresAt: HOUR },
    ],
    ...[
      { value: TOKEN, issuedAt: 0 },
      { ...token, expiresAt: '2030-01-01' },
    ],
  ])('of %j, which is no token, is a TypeError, and makes no request', async (given) => {
    const { loginApi, service } = serving(giveUser, { clock: () => 1 });
    const call = loginApi.getUser(given as string);
    await expect(call).rejects.toThrow(/^LoginApi: token must be an AccessToken/);
    await expect(call).rejects.toThrow(TypeError);
    expect(service.count()).toBe(0);
  });

  it('is sent again after a failure', async () => {
    const answer: Answerer = (request, n) => (n === 0 ? page(502) : giveUser(request, n));
    const { loginApi, service } = serving(answer, { retries: 1 });
    expect(await loginApi.getUser(TOKEN)).toEqual(userInfo);
    expect(service.count()).toBe(2);
  });

  // As text, because JSON.stringify would write other digits.
  it.each(['9007199254740993', '1e999', '-1e999'])('does not take the user_id %s', async (id) => {
    const sent = JSON.stringify({ user_info: userInfo, message: 'OK' }).replace('"77"', id);
    const { loginApi } = serving(() => text(sent));
    await expectError(loginApi.getUser(TOKEN), 'unexpected_response', 'user_info.user_id: ');
  });
});

describe('an error', () => {
  it.each([
    ['POST /api/authorize', 'post', page()],
    ['POST /api/authorize', 'post', json({ error: true })],
    ['GET /api/authorize', 'get', page()],
    ['GET /api/authorize', 'get', json({ error: true })],
  ] as const)('names the call as it was made: %s', async (name, authorizeMethod, answer) => {
    const { loginApi } = serving(() => answer, { authorizeMethod });
    const { message } = await rejection(loginApi.exchange(AUTH_KEY));
    expect(message).toMatch(new RegExp(`^${name}: `));
  });

  it.each<[string, (api: LoginApi) => Promise<unknown>]>([
    ['an ordinary word for an auth_key', (api) => api.exchange('tulip')],
    ['an ordinary word for a token', (api) => api.getUser('tulip')],
  ])('repeats nothing that was sent: %s', async (_name, call) => {
    const { loginApi } = serving(
      () => json({ error: true, message: 'What are tulip and open sesame?' }),
      { appSecret: 'open sesame' },
    );
    const { message } = await rejection(call(loginApi));
    expect(message).toContain('What are [redacted] and [redacted]?');
  });
});

it('a call after close() is refused', async () => {
  const { loginApi, service } = serving(giveUser);
  await loginApi.close();
  await expectError(loginApi.getUser(TOKEN), 'service_unavailable', 'this client was closed');
  expect(service.count()).toBe(0);
});

describe('a call that is over', () => {
  it('leaves no listener on the signal of its caller', async () => {
    const { loginApi } = serving((request, n) =>
      request.path === '/api/authorize' ? page(500) : giveUser(request, n),
    );
    const { signal } = new AbortController();
    await loginApi.getUser(TOKEN, { signal });
    await rejection(loginApi.exchange(AUTH_KEY, { signal }));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('ends with the reason of the signal', async () => {
    const { loginApi, service } = serving(giveUser);
    const signal = AbortSignal.abort(new Error('left'));
    await expect(loginApi.getUser(TOKEN, { signal })).rejects.toThrow('left');
    await expect(loginApi.exchange(AUTH_KEY, { signal })).rejects.toThrow('left');
    expect(service.count()).toBe(0);
  });
});

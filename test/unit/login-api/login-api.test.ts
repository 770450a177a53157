import { inspect } from 'node:util';
import { LoginApi, type LoginApiOptions } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { everythingOf, rejection } from '../../support/errors.js';
import { type Answerer, json, page } from '../../support/upstream.js';
import { userInfo } from '../../support/wire.js';
import { AUTH_KEY, HOUR, SECRET, serving, TOKEN } from './support.js';

const URL_ = 'https://market.example';

describe('options of LoginApi', () => {
  const good = { authUrl: URL_, appId: 'a', appSecret: 's' };
  it.each<[string, object]>([
    ['authUrl', { ...good, authUrl: 'nowhere' }],
    ['authUrl', { ...good, authUrl: 'http://market.example' }],
    ['appId', { ...good, appId: '' }],
    ['appId', { ...good, appId: 7 }],
    ['appSecret', { ...good, appSecret: undefined }],
    ['tokenLifetime', { ...good, tokenLifetime: 0 }],
    ['authorizeMethod', { ...good, authorizeMethod: 'PUT' }],
    ['timeout', { ...good, timeout: -1 }],
    ['appKey', { ...good, appKey: 'x' }],
  ])('a wrong %s is a TypeError that names it', (name, options) => {
    const make = (): LoginApi => new LoginApi(options as LoginApiOptions);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`"${name}"`);
  });

  it('the secret is not repeated, and not seen when the client is looked at', () => {
    const loginApi = new LoginApi({ ...good, appSecret: SECRET });
    expect(inspect(loginApi, { showHidden: true, depth: 9 })).not.toContain(SECRET);
  });
});

describe('loginUrl', () => {
  it('carries the app_id, encoded, and no other parameter', () => {
    const loginApi = new LoginApi({ authUrl: `${URL_}/x/`, appId: 'a b&c=d', appSecret: 's' });
    const url = new URL(loginApi.loginUrl());
    expect(url.pathname).toBe('/x/api/oauth');
    expect([...url.searchParams]).toEqual([['app_id', 'a b&c=d']]);
  });
});

describe('exchange', () => {
  it('posts app_id, app_secret and auth_key as a form, and gives a token of one hour', async () => {
    let now = 1000;
    const { loginApi, upstream } = await serving(
      (_request, res) => {
        now = 1500;
        json(res, { access_token: TOKEN });
      },
      { clock: () => now },
    );
    // Counted from before the request: the service made it later than that, never earlier.
    expect(await loginApi.exchange(AUTH_KEY)).toEqual({
      value: TOKEN,
      issuedAt: 1000,
      expiresAt: 1000 + HOUR,
    });
    const [request] = upstream.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/api/authorize' });
    expect(request?.query.size).toBe(0);
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
      app_id: 'app 7&x',
      app_secret: SECRET,
      auth_key: AUTH_KEY,
    });
  });

  it('goes as a GET where a deployment takes only that', async () => {
    const { loginApi, upstream } = await serving(
      (_request, res) => json(res, { access_token: TOKEN }),
      { authorizeMethod: 'get' },
    );
    await loginApi.exchange(AUTH_KEY);
    expect(upstream.requests[0]).toMatchObject({ method: 'GET', body: '' });
    expect(upstream.requests[0]?.query.get('auth_key')).toBe(AUTH_KEY);
  });

  it('gives the token the lifetime that was configured', async () => {
    const { loginApi } = await serving((_request, res) => json(res, { access_token: TOKEN }), {
      tokenLifetime: 60_000,
      clock: () => 0,
    });
    expect((await loginApi.exchange(AUTH_KEY)).expiresAt).toBe(60_000);
  });

  it.each<[string, Answerer, string]>([
    [
      '{error, message} with 200',
      (_r, res) => json(res, { error: true, message: 'Bad Request, invalid auth_key' }),
      'auth_key_rejected',
    ],
    [
      '{error, message} with 400',
      (_r, res) => json(res, { error: true, message: 'Bad Request, invalid auth_key' }, 400),
      'auth_key_rejected',
    ],
    [
      'a translated sentence',
      (_r, res) => json(res, { error: true, message: 'Geçersiz istek' }),
      'auth_key_rejected',
    ],
    ['JSON without access_token', (_r, res) => json(res, {}), 'auth_key_rejected'],
    ['an empty list', (_r, res) => json(res, []), 'auth_key_rejected'],
    ['an empty access_token', (_r, res) => json(res, { access_token: '' }), 'auth_key_rejected'],
    [
      'an access_token of null',
      (_r, res) => json(res, { access_token: null }),
      'auth_key_rejected',
    ],
    [
      'an access_token that is no text',
      (_r, res) => json(res, { access_token: { a: 1 } }),
      'auth_key_rejected',
    ],
    [
      'an access_token beside an error',
      (_r, res) => json(res, { error: true, access_token: TOKEN }),
      'auth_key_rejected',
    ],
    [
      'invalid app_id',
      (_r, res) => json(res, { error: true, message: 'Bad Request, invalid app_id' }),
      'app_credentials_rejected',
    ],
    [
      'invalid app_secret',
      (_r, res) => json(res, { error: true, message: 'Bad Request, invalid App_Secret' }),
      'app_credentials_rejected',
    ],
    [
      'a sentence in "error" itself',
      (_r, res) => json(res, { error: 'invalid app_secret' }),
      'app_credentials_rejected',
    ],
    ['a page with 200', (_r, res) => page(res), 'unexpected_response'],
    [
      'a token inside a page',
      (_r, res) => res.end(`<html>access_token=${TOKEN}</html>`),
      'unexpected_response',
    ],
    [
      'a token as a query string',
      (_r, res) => res.end(`access_token=${TOKEN}`),
      'unexpected_response',
    ],
    [
      'a warning ahead of the JSON',
      (_r, res) => res.end(`Warning\n{"access_token":"${TOKEN}"}`),
      'unexpected_response',
    ],
    ['a bare string', (_r, res) => json(res, TOKEN), 'unexpected_response'],
    ['a redirect', (_r, res) => res.writeHead(302, { location: '/' }).end(), 'unexpected_response'],
    [
      'HTTP 500',
      (_r, res) => json(res, { error: true, message: 'invalid auth_key' }, 500),
      'service_unavailable',
    ],
    ['HTTP 429', (_r, res) => page(res, 429), 'service_unavailable'],
  ])('%s', async (_name, answer, code) => {
    const { loginApi } = await serving(answer);
    const error = await rejection(loginApi.exchange(AUTH_KEY));
    expect(error.code).toBe(code);
    expect(everythingOf(error)).not.toContain(TOKEN);
  });

  it('repeats what the service said, without what was sent', async () => {
    const { loginApi } = await serving((request, res) =>
      json(res, { error: true, message: `No such key: ${request.body}` }),
    );
    const error = await rejection(loginApi.exchange(AUTH_KEY));
    expect(error.message).toContain('No such key');
    expect(everythingOf(error)).not.toContain(AUTH_KEY);
    expect(everythingOf(error)).not.toContain(SECRET);
  });

  it('reads a token behind a byte order mark, whatever the content type', async () => {
    const { loginApi } = await serving((_request, res) => {
      res
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`\uFEFF\n{"access_token":"${TOKEN}"}`);
    });
    expect((await loginApi.exchange(AUTH_KEY)).value).toBe(TOKEN);
  });

  it.each([undefined, null, '', ' ', 7, ['a'], 'x'.repeat(3000)])(
    '%j is no auth_key, and costs no call',
    async (authKey) => {
      const { loginApi, upstream } = await serving((_request, res) => json(res, {}));
      expect((await rejection(loginApi.exchange(authKey as string))).code).toBe(
        'auth_key_rejected',
      );
      expect(upstream.requests).toHaveLength(0);
    },
  );
});

describe('getUser', () => {
  const token = { value: TOKEN, issuedAt: 0, expiresAt: HOUR };

  it.each([
    ['its value', TOKEN],
    ['an AccessToken', token],
  ])('asks with %s', async (_name, given) => {
    const { loginApi, upstream } = await serving(
      (_request, res) => json(res, { user_info: userInfo }),
      {
        clock: () => 1,
      },
    );
    expect(await loginApi.getUser(given)).toEqual(userInfo);
    expect(upstream.requests[0]).toMatchObject({ method: 'GET', path: '/api/get_user_info' });
    expect([...(upstream.requests[0]?.query ?? [])]).toEqual([['access_token', TOKEN]]);
  });

  it('does not ask with a token whose hour is over', async () => {
    const { loginApi, upstream } = await serving(
      (_request, res) => json(res, { user_info: userInfo }),
      {
        clock: () => HOUR,
      },
    );
    expect(await rejection(loginApi.getUser(token))).toMatchObject({
      code: 'access_token_expired',
      status: 401,
    });
    expect(upstream.requests).toHaveLength(0);
  });

  it.each([undefined, null, '', {}, { value: '' }, 7])(
    '%j is no token: TypeError',
    async (given) => {
      const { loginApi } = await serving((_request, res) => json(res, {}));
      await expect(loginApi.getUser(given as string)).rejects.toThrow(TypeError);
    },
  );

  it.each<[string, Answerer, string]>([
    [
      'expired access_token',
      (_r, res) => json(res, { error: true, message: 'Bad Request, expired access_token' }),
      'access_token_expired',
    ],
    [
      'invalid access_token',
      (_r, res) => json(res, { error: true, message: 'Bad Request, invalid access_token' }, 400),
      'access_token_expired',
    ],
    [
      '401 with a message',
      (_r, res) => json(res, { message: 'Unauthorized' }, 401),
      'access_token_expired',
    ],
    ['a user who is gone', (_r, res) => json(res, []), 'login_failed'],
    ['a user_info that is gone', (_r, res) => json(res, { user_info: [] }), 'login_failed'],
    ['an empty object', (_r, res) => json(res, {}), 'unexpected_response'],
    [
      'a user without an id',
      (_r, res) => json(res, { user_info: { ...userInfo, user_id: null } }),
      'unexpected_response',
    ],
    [
      'a user with an empty id',
      (_r, res) => json(res, { user_info: { ...userInfo, user_id: '' } }),
      'unexpected_response',
    ],
    ['a page with 200', (_r, res) => page(res), 'unexpected_response'],
    [
      'HTTP 500 in the words of an end',
      (_r, res) => json(res, { error: true, message: 'expired access_token' }, 500),
      'service_unavailable',
    ],
  ])('%s', async (_name, answer, code) => {
    const { loginApi } = await serving(answer);
    const error = await rejection(loginApi.getUser(TOKEN));
    expect(error.code).toBe(code);
    expect(everythingOf(error)).not.toContain(TOKEN);
  });

  it('is asked again after a failure', async () => {
    const { loginApi, upstream } = await serving(
      (_request, res, n) => (n === 0 ? page(res, 502) : json(res, { user_info: userInfo })),
      { retries: 1 },
    );
    await loginApi.getUser(TOKEN);
    expect(upstream.requests).toHaveLength(2);
  });

  it('reads null for absent, and a number for an id', async () => {
    const { user_gender, user_cover, ...rest } = userInfo;
    const { loginApi } = await serving((_request, res) =>
      json(res, { user_info: { ...rest, user_id: 77, user_gender: null, user_cover: null } }),
    );
    expect(await loginApi.getUser(TOKEN)).toStrictEqual(rest);
  });
});

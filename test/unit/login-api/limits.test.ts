import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { rejection } from '../../support/errors.js';
import { type Answerer, json, page } from '../../support/upstream.js';
import { userInfo } from '../../support/wire.js';
import { AUTH_KEY, serving, TOKEN } from './support.js';

const giveToken: Answerer = (_request, res) => json(res, { access_token: TOKEN });

describe('an auth_key', () => {
  it('is sent once, whatever retries says: it may be spent although the answer got lost', async () => {
    const { loginApi, upstream } = await serving((_request, res) => page(res, 502), { retries: 2 });
    expect((await rejection(loginApi.exchange(AUTH_KEY))).code).toBe('service_unavailable');
    expect(upstream.requests).toHaveLength(1);
  });

  it.each([
    [2048, 1],
    [2049, 0],
  ])('of %i characters makes %i calls', async (length, calls) => {
    const { loginApi, upstream } = await serving(giveToken);
    await loginApi.exchange('x'.repeat(length)).catch(() => {});
    expect(upstream.requests).toHaveLength(calls);
  });

  it('goes as a POST where that is asked for', async () => {
    const { loginApi, upstream } = await serving(giveToken, { authorizeMethod: 'post' });
    await loginApi.exchange(AUTH_KEY);
    expect(upstream.requests[0]?.method).toBe('POST');
  });
});

describe('an answer to exchange', () => {
  it.each(['app_id', 'appId', 'app id', 'APP-ID', 'app_secret', 'App Secret', 'app-secret'])(
    'that names %s is about the app',
    async (name) => {
      const { loginApi } = await serving((_request, res) =>
        json(res, { error: true, message: `Invalid ${name}.` }, 400),
      );
      expect((await rejection(loginApi.exchange(AUTH_KEY))).code).toBe('app_credentials_rejected');
    },
  );

  it.each<[string, unknown, string]>([
    ['a blank access_token', { access_token: ' ' }, 'auth_key_rejected'],
    ['a list with something in it', [{ access_token: TOKEN }], 'unexpected_response'],
    ['null', null, 'unexpected_response'],
  ])('that is %s gives no token', async (_name, body, code) => {
    const { loginApi } = await serving((_request, res) => json(res, body));
    expect((await rejection(loginApi.exchange(AUTH_KEY))).code).toBe(code);
  });
});

describe('a call that is over', () => {
  it('has left nothing on the caller’s signal', async () => {
    const { loginApi } = await serving((request, res) =>
      request.path === '/api/authorize' ? page(res, 500) : json(res, { user_info: userInfo }),
    );
    const { signal } = new AbortController();
    await loginApi.getUser(TOKEN, { signal });
    await rejection(loginApi.exchange(AUTH_KEY, { signal }));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('is refused when the client was closed before', async () => {
    const { loginApi, upstream } = await serving(giveToken);
    await loginApi.close();
    expect((await rejection(loginApi.exchange(AUTH_KEY))).message).toContain('closed');
    expect(upstream.requests).toHaveLength(0);
  });
});

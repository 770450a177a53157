import { KeyApi, LoginApi } from 'marketgate';
import { onTestFinished } from 'vitest';
import { type Answerer, json } from '../../support/upstream.js';
import { account, KEY, purchase, success, userInfo } from '../../support/wire.js';

/** A client that sends each request once, closed with the test. */
export function keyApiOf(baseUrl: string, options: object = {}): KeyApi {
  const keyApi = new KeyApi({ baseUrl, apiKey: KEY, retries: 0, cache: false, ...options });
  onTestFinished(() => keyApi.close());
  return keyApi;
}

export function loginApiOf(authUrl: string, options: object = {}): LoginApi {
  const loginApi = new LoginApi({ authUrl, appId: 'app', appSecret: 'secret', ...options });
  onTestFinished(() => loginApi.close());
  return loginApi;
}

/** The service: it answers every call with yes. */
export const answered: Answerer = ({ path }, res) => {
  if (path === '/api/authorize') json(res, { access_token: 'token' });
  else if (path === '/api/get_user_info') json(res, { user_info: userInfo });
  else json(res, success({ data: path === '/api/purchases/validation' ? { purchase } : account }));
};

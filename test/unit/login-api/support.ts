import { LoginApi, type LoginApiOptions } from 'marketgate';
import { onTestFinished } from 'vitest';
import { type Answerer, startUpstream, type Upstream } from '../../support/upstream.js';

export const SECRET = 'app-secret-f00dfeed';
export const AUTH_KEY = 'auth-key-cafe0123';
export const TOKEN = 'access-token-beef4567';
export const HOUR = 3_600_000;

/** A client of a service whose answers the test writes. */
export async function serving(
  answer: Answerer,
  options: Partial<LoginApiOptions> = {},
): Promise<{ loginApi: LoginApi; upstream: Upstream }> {
  const upstream = await startUpstream(answer);
  const loginApi = new LoginApi({
    authUrl: upstream.url,
    appId: 'app 7&x',
    appSecret: SECRET,
    retries: 0,
    ...options,
  });
  onTestFinished(() => loginApi.close());
  return { loginApi, upstream };
}

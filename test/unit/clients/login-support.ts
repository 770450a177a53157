import { LoginApi, type LoginApiOptions } from 'marketgate';
import { onTestFinished } from 'vitest';
import { type Answerer, ServiceInMemory } from '../../support/service-in-memory.js';

export const SECRET = 'app-secret-f00dfeed';
export const AUTH_KEY = 'auth-key-cafe0123';
export const TOKEN = 'access-token-beef4567';
export const HOUR = 3_600_000;

/** A client of a service whose answers the test writes. */
export function serving(answer: Answerer, options: Partial<LoginApiOptions> = {}) {
  const service = new ServiceInMemory(answer);
  const loginApi = new LoginApi({
    authUrl: 'https://market.example',
    appId: 'app 7&x',
    appSecret: SECRET,
    retries: 0,
    fetch: service.fetch,
    ...options,
  });
  onTestFinished(() => loginApi.close());
  return { loginApi, service };
}

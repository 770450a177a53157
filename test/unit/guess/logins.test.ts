import { LoginApi } from 'marketgate';
import { expect, it, onTestFinished } from 'vitest';
import { type Answerer, json, ServiceInMemory } from '../../support/service-in-memory.js';
import { endOf } from './support.js';

/** How the exchange of an auth_key ends for one client, who has one guess. */
function shopWith(answer: Answerer) {
  const service = new ServiceInMemory(answer);
  const loginApi = new LoginApi({
    authUrl: 'https://market.example',
    appId: '7',
    appSecret: 's',
    fetch: service.fetch,
    guessLimit: { limit: 1 },
  });
  onTestFinished(() => loginApi.close());
  let keys = 0;
  const ask = (options: object = {}) =>
    endOf(loginApi.exchange(`key-${++keys}`, { client: 'anna', ...options }));
  return { service, ask };
}

const refusal = (message: string) => json({ message }, 401);

it('a login that the service refuses is a guess', async () => {
  const { ask, service } = shopWith(() => refusal('Invalid auth_key'));
  expect([await ask(), await ask()]).toEqual(['auth_key_rejected', 'too_many_attempts']);
  expect(service.count()).toBe(1);
});

it('no visitor is counted for credentials of the app that the service refuses', async () => {
  const { ask } = shopWith(() => refusal('Invalid app_secret'));
  for (let n = 0; n < 3; n++) expect(await ask()).toBe('app_credentials_rejected');
});

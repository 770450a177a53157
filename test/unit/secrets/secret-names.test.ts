import { KeyApi, LoginApi, loadPurchase, SECRET_NAMES } from 'marketgate';
import { expect, it } from 'vitest';
import { runMiddleware } from '../../support/fake-response.js';
import { json, ServiceInMemory } from '../../support/service-in-memory.js';
import { CODE, KEY } from '../../support/wire.js';

it('every name under which the clients send something is secret, or known not to be', async () => {
  const { fetch, requests } = new ServiceInMemory(() => json({}));
  const url = 'https://market.example';
  const keyApi = new KeyApi({ baseUrl: url, apiKey: KEY, fetch });
  const loginApi = new LoginApi({ authUrl: url, appId: 'app', appSecret: 'secret', fetch });
  await Promise.allSettled([
    ...[keyApi.getAccount(), keyApi.listItems(), keyApi.getItem(1), keyApi.validatePurchase(CODE)],
    ...[loginApi.exchange('auth-key-1'), loginApi.getUser('a-token')],
  ]);
  const names = requests.flatMap(({ query, body }) => [
    ...new URLSearchParams(`${query}&${body}`).keys(),
  ]);
  const known = [...new Set(names)].filter((name) => !SECRET_NAMES.includes(name));
  expect(known.sort()).toEqual(['app_id', 'item_id']);
  expect(new Set(names).size).toBe(7);
});

it('the header that a guard reads by default is secret', async () => {
  const guard = loadPurchase({ validatePurchase: async () => null }, { client: false });
  const { res } = await runMiddleware(guard, { headers: {} });
  expect(SECRET_NAMES).toContain(String(res.getHeader('Vary')).toLowerCase());
});

import { KeyApi, LoginApi, loadPurchase, SECRET_NAMES } from 'marketgate';
import { expect, it, onTestFinished } from 'vitest';
import { runMiddleware } from '../../support/fake-response.js';
import { json, type SeenRequest, startUpstream } from '../../support/upstream.js';
import { account, CODE, KEY, success } from '../../support/wire.js';

/** The names of a request, in its query and in its form or JSON body. */
function namesOf({ query, body, headers }: SeenRequest): string[] {
  const isJson = headers['content-type']?.includes('json');
  const fields = isJson ? Object.keys(JSON.parse(body)) : [...new URLSearchParams(body).keys()];
  return [...query.keys(), ...fields];
}

it('every name under which the clients send something is secret, or known not to be', async () => {
  const upstream = await startUpstream((_request, res) => json(res, success({ data: account })));
  const { url } = upstream;
  for (const validationEncoding of ['form', 'json', 'query'] as const) {
    const keyApi = new KeyApi({ baseUrl: url, apiKey: KEY, validationEncoding, retries: 0 });
    onTestFinished(() => keyApi.close());
    const calls = [keyApi.getAccount(), keyApi.listItems(), keyApi.getItem(1)];
    await Promise.allSettled([...calls, keyApi.validatePurchase(CODE)]);
  }
  for (const authorizeMethod of ['post', 'get'] as const) {
    const app = { authUrl: url, appId: 'app', appSecret: 'secret', retries: 0 };
    const loginApi = new LoginApi({ ...app, authorizeMethod });
    onTestFinished(() => loginApi.close());
    await Promise.allSettled([loginApi.exchange('auth-key-1'), loginApi.getUser('a-token')]);
  }
  const names = new Set(upstream.requests.flatMap(namesOf));
  const known = [...names].filter((name) => !SECRET_NAMES.includes(name));
  expect(known.sort()).toEqual(['app_id', 'item_id']);
  expect(names.size).toBe(7);
});

it('the header that a guard reads by default is secret', async () => {
  const keyApi = { validatePurchase: async () => null };
  const guard = loadPurchase(keyApi, { client: false });
  const { res } = await runMiddleware(guard, { headers: {} });
  expect(SECRET_NAMES).toContain(String(res.getHeader('Vary')).toLowerCase());
});

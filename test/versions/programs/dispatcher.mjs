// Through the fetch of the undici that this project has, with a dispatcher of its own. A call, a redirect that is not
// followed, an outage, mocks.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { KeyApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { Agent, fetch, MockAgent } from 'undici';

const { baseUrl, apiKey, close } = await createSandbox().listen(0);
const agent = new Agent();
const apiOf = (url, dispatcher) =>
  new KeyApi({
    baseUrl: url,
    apiKey,
    fetch: (target, init) => fetch(target, { ...init, dispatcher }),
    retries: 0,
    cache: false,
  });

const elsewhere = createServer((req, res) =>
  res.writeHead(307, { location: baseUrl + req.url }).end(),
);
await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
const there = `http://127.0.0.1:${elsewhere.address().port}`;
assert.ok((await apiOf(baseUrl, agent).listItems()).length > 0);
const refused = { code: 'unexpected_response', message: /redirected/ };
await assert.rejects(apiOf(there, agent).getAccount(), refused);
elsewhere.close();

await close();
await assert.rejects(apiOf(baseUrl, agent).getAccount(), { code: 'service_unavailable' });
await agent.close();

const mock = new MockAgent();
mock.disableNetConnect();
const origin = 'https://market.example';
const reply = { status: 'success', data: { username: 'mocked' } };
const path = `/api/account/details?api_key=${apiKey}`;
mock.get(origin).intercept({ path }).reply(200, reply);
const mocked = apiOf(origin, mock);
assert.equal((await mocked.getAccount()).username, 'mocked');
await assert.rejects(mocked.listItems(), { code: 'service_unavailable' });
console.log('works');

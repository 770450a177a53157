// Through a dispatcher of the undici that this project has: a call, a redirect that is not followed, an outage,
// mocks.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { KeyApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { Agent, getGlobalDispatcher, interceptors, MockAgent, setGlobalDispatcher } from 'undici';

const { baseUrl, apiKey, close } = await createSandbox().listen(0);
const agent = new Agent();
const redirecting = agent.compose(interceptors.redirect({ maxRedirections: 5 }));
const refused = { code: 'unexpected_response', message: /redirected/ };

for (const dispatcher of [agent, redirecting]) {
  const keyApi = new KeyApi({ baseUrl, apiKey, dispatcher, retries: 0 });
  assert.ok((await keyApi.listItems()).length > 0);
  await keyApi.close();

  const elsewhere = createServer((req, res) =>
    res.writeHead(307, { location: baseUrl + req.url }).end(),
  );
  await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  const { port } = elsewhere.address();
  const moved = new KeyApi({ baseUrl: `http://127.0.0.1:${port}`, apiKey, dispatcher });
  await assert.rejects(moved.getAccount(), refused);
  await moved.close();
  elsewhere.close();
}

await close();
const late = new KeyApi({ baseUrl, apiKey, dispatcher: agent, retries: 0 });
await assert.rejects(late.getAccount(), { code: 'service_unavailable' });
await late.close();
await agent.close();

const mock = new MockAgent();
mock.disableNetConnect();
const origin = 'https://market.example';
const reply = { status: 'success', data: { username: 'mocked' } };
const path = '/api/account/details?api_key=key';
mock.get(origin).intercept({ path }).reply(200, reply).times(2);
setGlobalDispatcher(mock);
for (const dispatcher of [mock, getGlobalDispatcher()]) {
  const mocked = new KeyApi({
    baseUrl: origin,
    apiKey: 'key',
    dispatcher,
    retries: 0,
    cache: false,
  });
  assert.equal((await mocked.getAccount()).username, 'mocked');
  await assert.rejects(mocked.listItems(), { code: 'service_unavailable' });
  await mocked.close();
}
console.log('works');

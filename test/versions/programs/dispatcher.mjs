// Through the undici that this project has: a dispatcher of version 7, and of other versions their fetch. A call, a
// redirect that is not followed, an outage, mocks.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { KeyApi } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { Agent, fetch, interceptors, MockAgent } from 'undici';

const { version } = createRequire(import.meta.url)('undici/package.json');
const isTaken = version.startsWith('7.');
/** The option that sends requests through a dispatcher. */
const through = (dispatcher) =>
  isTaken ? { dispatcher } : { fetch: (url, init) => fetch(url, { ...init, dispatcher }) };

const { baseUrl, apiKey, close } = await createSandbox().listen(0);
const agent = new Agent();
const redirecting = agent.compose(interceptors.redirect({ maxRedirections: 5 }));
const refused = { code: 'unexpected_response', message: /redirected/ };

if (!isTaken) {
  for (const dispatcher of [agent, redirecting, new MockAgent()]) {
    assert.throws(() => new KeyApi({ baseUrl, apiKey, dispatcher }), {
      name: 'TypeError',
      message: /"dispatcher" must be a Dispatcher of undici 7.*"fetch"/,
    });
  }
}

for (const dispatcher of isTaken ? [agent, redirecting] : [agent]) {
  const keyApi = new KeyApi({ baseUrl, apiKey, ...through(dispatcher), retries: 0 });
  assert.ok((await keyApi.listItems()).length > 0);
  await keyApi.close();

  const elsewhere = createServer((req, res) =>
    res.writeHead(307, { location: baseUrl + req.url }).end(),
  );
  await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  const { port } = elsewhere.address();
  const moved = new KeyApi({ baseUrl: `http://127.0.0.1:${port}`, apiKey, ...through(dispatcher) });
  await assert.rejects(moved.getAccount(), refused);
  await moved.close();
  elsewhere.close();
}

await close();
const late = new KeyApi({ baseUrl, apiKey, ...through(agent), retries: 0 });
await assert.rejects(late.getAccount(), { code: 'service_unavailable' });
await late.close();
await agent.close();

const mock = new MockAgent();
mock.disableNetConnect();
const origin = 'https://market.example';
const reply = { status: 'success', data: { username: 'mocked' } };
const path = '/api/account/details?api_key=key';
mock.get(origin).intercept({ path }).reply(200, reply);
const mocked = new KeyApi({
  baseUrl: origin,
  apiKey: 'key',
  ...through(mock),
  retries: 0,
  cache: false,
});
assert.equal((await mocked.getAccount()).username, 'mocked');
await assert.rejects(mocked.listItems(), { code: 'service_unavailable' });
await mocked.close();
console.log('works');

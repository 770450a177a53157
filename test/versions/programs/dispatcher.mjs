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
const apiOf = (url, dispatcher) =>
  new KeyApi({ baseUrl: url, apiKey, ...through(dispatcher), retries: 0, cache: false });

if (!isTaken) {
  for (const dispatcher of [agent, redirecting, new MockAgent()]) {
    assert.throws(() => new KeyApi({ baseUrl, apiKey, dispatcher }), {
      name: 'TypeError',
      message: /"dispatcher" must be a Dispatcher of undici 7.*"fetch"/,
    });
  }
}

const elsewhere = createServer((req, res) =>
  res.writeHead(307, { location: baseUrl + req.url }).end(),
);
await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
const there = `http://127.0.0.1:${elsewhere.address().port}`;
for (const dispatcher of isTaken ? [agent, redirecting] : [agent]) {
  assert.ok((await apiOf(baseUrl, dispatcher).listItems()).length > 0);
  const refused = { code: 'unexpected_response', message: /redirected/ };
  await assert.rejects(apiOf(there, dispatcher).getAccount(), refused);
}
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

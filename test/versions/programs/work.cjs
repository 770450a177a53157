// What every cell of the matrix does for real: the guard, a login, and a Redis shared by two clients.
const assert = require('node:assert/strict');
const { randomUUID } = require('node:crypto');
const { once } = require('node:events');

const CODE = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';
const SECRET = 'not-so-secret-but-long-enough-for-a-test';

/** A visitor: cookies by host and port, one request at a time. */
function visitor() {
  const jars = new Map();
  return async function ask(url, { form, headers } = {}) {
    const { host } = new URL(url);
    const jar = jars.get(host) ?? new Map();
    jars.set(host, jar);
    const answer = await fetch(url, {
      method: form ? 'POST' : 'GET',
      body: form && new URLSearchParams(form),
      redirect: 'manual',
      headers: { cookie: [...jar].map((pair) => pair.join('=')).join('; '), ...headers },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      jar.set(name, value);
    }
    const text = await answer.text();
    const location = answer.headers.get('location');
    return { status: answer.status, text, next: location && new URL(location, url).href };
  };
}

/** The guard: 402, 403, 200, too many guesses, and one call for two processes. */
async function guardWorks(lib, app, ask, sandbox, services) {
  const { baseUrl, apiKey, origin, client, prefix } = services;
  const shared = () => new lib.RedisCache({ client, prefix });
  const keyApis = [0, 1].map(
    () => new lib.KeyApi({ baseUrl, apiKey, cache: { shared: shared() } }),
  );
  const guessLimit = new lib.RedisGuessLimit({ client, prefix, limit: 2, windowMs: 60_000 });
  keyApis.forEach((keyApi, i) => {
    app.get(`/download/${i}`, lib.requirePurchase(keyApi, { item: 1042, guessLimit }), (req, res) =>
      res.json({ item: req.marketplace.purchase.item.id }),
    );
  });
  app.use('/download', lib.errorHandler());
  const get = async (i, code) => {
    const headers = { accept: 'application/json', ...(code && { 'x-purchase-code': code }) };
    const { status, text } = await ask(`${origin}/download/${i}`, { headers });
    return [status, JSON.parse(text).code ?? JSON.parse(text).item];
  };
  assert.deepEqual(await get(0), [402, 'purchase_required']);
  assert.deepEqual(await get(0, CODE), [200, 1042]);
  const validations = () => sandbox.requests.filter(({ path }) => /validation/.test(path)).length;
  const before = validations();
  assert.deepEqual(await get(1, CODE), [200, 1042]);
  assert.equal(validations(), before, 'the second client has its answer from Redis');
  assert.deepEqual(await get(0, randomUUID()), [403, 'purchase_code_invalid']);
  assert.deepEqual(await get(1, randomUUID()), [403, 'purchase_code_invalid']);
  assert.deepEqual(await get(1, randomUUID()), [429, 'too_many_attempts']);
  return () => Promise.all(keyApis.map((keyApi) => keyApi.close()));
}

/** A login, through the pages of the service and back, with the token in Redis. */
async function loginWorks(lib, app, ask, sandbox, services) {
  const { authUrl, appId, appSecret, origin, client, prefix } = services;
  const loginApi = new lib.LoginApi({ authUrl, appId, appSecret });
  const tokenStore = new lib.RedisTokenStore({ client, prefix });
  const loginAttempts = { cookieSecret: SECRET };
  lib.passport.use(
    new lib.MarketplaceStrategy({ loginApi, tokenStore, loginAttempts }, ({ profile }) => profile),
  );
  app.use(lib.passport.initialize());
  const authenticate = lib.passport.authenticate('marketplace', { session: false });
  app.get('/login', authenticate);
  app.get('/callback', authenticate, lib.loadUser(loginApi, { tokenStore }), (req, res) =>
    res.json({ id: req.user.id, name: req.marketplace.user.user_name }),
  );
  app.use(lib.errorHandler());
  sandbox.redirectUrl = `${origin}/callback`;

  assert.equal((await ask(`${origin}/callback?auth_key=made-up`)).status, 403);
  const start = await ask(`${origin}/login`);
  assert.equal(start.next, loginApi.loginUrl());
  const page = await ask(start.next);
  const attempt = /name="attempt" value="([^"]*)"/.exec(page.text)[1];
  const login = { attempt, user_id: '3001' };
  await ask(`${authUrl}/sandbox/login`, { form: login });
  const consent = { attempt, decision: 'accept' };
  const accepted = await ask(`${authUrl}/sandbox/consent`, { form: consent });
  const done = await ask(accepted.next);
  assert.deepEqual(JSON.parse(done.text), { id: '3001', name: 'mira.solheim' }, done.text);
  assert.ok((await tokenStore.get('3001')).expiresAt > Date.now());
  assert.notEqual((await ask(accepted.next)).status, 200, 'an auth_key works once');
  return () => loginApi.close();
}

async function work(lib) {
  const sandbox = lib.createSandbox();
  const service = await sandbox.listen(0);
  const { client, close } = await lib.connect();
  const app = lib.express();
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${server.address().port}`;
  const services = { ...service, origin, client, prefix: `smoke-${randomUUID()}:` };

  const ask = visitor();
  const ends = [await guardWorks(lib, app, ask, sandbox, services)];
  ends.push(await loginWorks(lib, app, ask, sandbox, services));

  // After this the process must end by itself.
  for (const end of ends) await end();
  server.closeAllConnections();
  server.close();
  await close();
  await service.close();
  console.log('works');
}

module.exports = { work };

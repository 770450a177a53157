// What every cell of the matrix does for real: a guard with its guess limit, an outage, and a login. The program of
// a framework only mounts the routes. It imports nothing of the package, so that each program decides how it is loaded.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, request } from 'node:http';

export const SECRET = 'not-so-secret-but-long-enough-for-a-test';
const LIMIT = 2;
const { MARKETGATE_FETCH } = process.env;

export async function listen(handler) {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { port: server.address().port, close };
}

/**
 * Runs a shop to its end. The process must then end by itself.
 *
 * @param lib - the names of the package, and `Passport`.
 * @param serve mounts the routes, and gives `{ port, close, without }`: `without` names the parts that it
 * does not have ("login"). A server that does not use these routes can also give its `path`, its `limit` of
 * failed attempts, and `ask` for another protocol.
 * @param redis - `{ client, subscriber, prefix }`, for a shop that shares what it knows.
 */
export async function runShopOf(lib, serve, redis) {
  const sandbox = lib.createSandbox();
  const services = await sandbox.listen();
  const parts = partsOf(lib, services, redis);
  const shop = await serve({ ...parts, services });
  const ask = shop.ask ?? visitor(shop.port);

  await guardWorks(ask, sandbox, shop);
  if (redis) await isShared(lib, sandbox, services, redis);
  if (!shop.without?.includes('login')) await loginWorks(ask, sandbox, shop.port);
  await shop.check?.({ ask, supported: codeOf(sandbox, 'supported'), wrong: randomUUID() });

  await shop.close();
  await Promise.all([parts.keyApi.close(), parts.loginApi.close(), sandbox.close()]);
  console.log('works');
}

/** What one process of a shop counts and keeps, alone or in Redis with the others. */
function sharing(lib, redis) {
  if (!redis) return { guessLimit: { limit: LIMIT } };
  const { subscriber: _subscriber, ...store } = redis;
  const guessLimit = new lib.RedisGuessLimit({ ...store, limit: LIMIT });
  return { guessLimit, cache: { shared: new lib.RedisCache(redis) } };
}

/** What a shop is made of. */
export function partsOf(lib, { baseUrl, authUrl, apiKey, appId, appSecret }, redis) {
  const options = { retries: 0, ...(MARKETGATE_FETCH && { fetch: globalThis.fetch }) };
  const loginApi = new lib.LoginApi({ authUrl, appId, appSecret, ...options });
  const keyApi = new lib.KeyApi({ baseUrl, apiKey, ...options, ...sharing(lib, redis) });
  const { subscriber: _subscriber, ...store } = redis ?? {};
  const tokenStore = redis ? new lib.RedisTokenStore(store) : new lib.MemoryTokenStore();
  const loginAttempts = { cookieSecret: SECRET };
  const strategy = (more) =>
    new lib.MarketplaceStrategy({ loginApi, tokenStore, ...more }, ({ profile }) => ({
      id: profile.id,
    }));
  const passport = new lib.Passport();
  passport.use(strategy({ loginAttempts }));
  return {
    guard: lib.requirePurchase(keyApi, { item: 1042 }),
    itemOf: (req) => ({ item: lib.purchaseOf(req).item.id }),
    /** For `/broken`: a mistake in the app's own function. */
    broken: lib.requirePurchase(keyApi, {
      item: () => {
        throw new Error('a mistake of the app');
      },
    }),
    // Express sets `req.res`; the others need this line.
    authenticate(req, res, next) {
      req.res = res;
      passport.authenticate('marketplace', { session: false })(req, res, next);
    },
    /** For `/callback`, after `authenticate`. */
    loadUser: lib.loadUser(loginApi, { tokenStore }),
    userOf: (req) => ({ id: req.user.id, name: lib.userOf(req).user_name }),
    onError: lib.errorHandler({ log: false }),
    /** For an app whose attempts are in its session. */
    sessionStrategy: strategy(),
    problemOf: lib.problemOf,
    ...{ keyApi, loginApi, tokenStore, loginAttempts },
  };
}

/** The routes, for frameworks that take middleware of Node as they are. */
export function routesOf({ guard, itemOf, broken, authenticate, loadUser, userOf }) {
  const answer = (found) => (req, res) => res.end(JSON.stringify(found(req)));
  return [
    ['/download', guard, answer(itemOf)],
    ['/broken', broken],
    ['/login', authenticate],
    ['/callback', authenticate, loadUser, answer(userOf)],
  ];
}

/** Serves the shop with this Express, with middleware ahead of its routes. */
export const inExpress =
  (express, ...before) =>
  (parts) => {
    const app = express();
    for (const middleware of before) app.use(middleware);
    for (const [path, ...handlers] of routesOf(parts)) app.get(path, handlers);
    app.use(parts.onError);
    return listen(app);
  };

const codeOf = ({ codes }, wanted) => codes.find(({ kind }) => kind === wanted).code;

/** One browser at one address, with its cookies. */
function visitor(port) {
  const jar = new Map();
  return (path, { headers, localAddress } = {}) =>
    new Promise((resolve, reject) => {
      const { pathname, search } = new URL(path, 'http://localhost');
      const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
      const all = { ...headers, ...(cookie && { cookie }) };
      const where = { port, host: '127.0.0.1', path: pathname + search, localAddress };
      const req = request({ ...where, agent: false, headers: all }, async (res) => {
        for (const line of res.headers['set-cookie'] ?? []) {
          const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
          jar.set(name, value);
        }
        const text = Buffer.concat(await res.toArray()).toString();
        resolve({ status: res.statusCode, headers: res.headers, text });
      });
      req.setTimeout(15_000, () => req.destroy(new Error(`no answer to ${path}`)));
      req.on('error', reject).end();
    });
}

async function guardWorks(ask, sandbox, { path = '/download', limit = LIMIT, without = [] }) {
  const download = async (code, localAddress) => {
    const headers = { accept: 'application/json', ...(code && { 'x-purchase-code': code }) };
    const { status, text, headers: answered } = await ask(path, { headers, localAddress });
    if (status === 429) assert.ok(answered['retry-after'] > 0);
    return [status, answerOf(text)];
  };
  const code = (kind) => codeOf(sandbox, kind);
  assert.deepEqual(await download(), [402, 'purchase_required']);
  assert.deepEqual(await download(code('supported')), [200, 1042]);
  assert.deepEqual(await download(code('other-item')), [403, 'purchase_item_mismatch']);

  for (let i = 0; i < limit; i++) {
    assert.deepEqual(await download(randomUUID()), [403, 'purchase_code_invalid']);
  }
  assert.deepEqual(await download(randomUUID()), [429, 'too_many_attempts']);
  assert.deepEqual(await download(code('supported')), [200, 1042], 'a customer at that address');
  const other = await download(randomUUID(), '127.0.0.2');
  assert.deepEqual(other, [403, 'purchase_code_invalid'], 'somebody at another address');

  sandbox.faults.errorRate = 1;
  const unasked = await download(code('extended'), '127.0.0.3');
  assert.deepEqual(unasked, [503, 'service_unavailable']);
  assert.deepEqual(await download(code('supported')), [200, 1042], 'known before the outage');
  sandbox.faults.errorRate = 0;

  if (without.includes('middleware') || without.includes('broken')) return;
  const { status } = await ask('/broken', { headers: { 'x-purchase-code': code('supported') } });
  assert.equal(status, 500, 'a mistake of the app is its own');
}

/** Another process finds the answer and the failed attempts in Redis. */
async function isShared(lib, sandbox, { baseUrl, apiKey }, redis) {
  const keyApi = new lib.KeyApi({ baseUrl, apiKey, ...sharing(lib, redis) });
  const asked = sandbox.requests.length;
  const decide = async (code, client) => {
    const { verdict, error } = await lib.checkPurchase(keyApi, code, { client });
    return error?.code ?? verdict;
  };
  assert.equal(await decide(codeOf(sandbox, 'supported'), '127.0.0.4'), 'valid');
  assert.equal(await decide(randomUUID(), '127.0.0.1'), 'too_many_attempts');
  assert.equal(sandbox.requests.length, asked);
  await keyApi.close();
}

async function loginWorks(ask, sandbox, port) {
  sandbox.redirectUrl = `http://127.0.0.1:${port}/callback`;
  const exchanges = () => sandbox.requests.filter(({ path }) => /authorize/.test(path)).length;

  // In a browser of its own: after this one, logins in it ask "Continue as NAME?".
  const stranger = await visitor(port)('/callback?auth_key=made-up');
  // Nest makes 401 of whatever failed.
  assert.match(String(stranger.status), /^(401|403)$/, stranger.text);
  assert.equal(exchanges(), 0, 'spent nothing');

  const start = await ask('/login');
  assert.equal(start.status, 302, start.text);
  assert.match(start.headers.location, /\/api\/oauth\?app_id=/);
  const callback = sandbox.acceptLogin('3001');
  const done = await ask(callback);
  assert.equal(done.status, 200, done.text);
  assert.deepEqual(JSON.parse(done.text), { id: '3001', name: 'mira.solheim' });
  // A reload by somebody who is logged in goes on to the handler; where the app has no session, nobody is.
  assert.match(String((await ask(callback)).status), /^(200|401|403)$/);
  assert.equal(exchanges(), 1, 'an auth_key works once');
}

/** The code of a problem or the item, without the envelope of tRPC and GraphQL; otherwise the text. */
function answerOf(text) {
  try {
    const { code, item, result, error, data, errors } = JSON.parse(text);
    const inside = result?.data.item ?? error?.data.problem.code ?? data?.download;
    return code ?? item ?? inside ?? errors?.[0].extensions.code ?? text;
  } catch {
    return text;
  }
}

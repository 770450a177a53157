// What a cell of the matrix does for real: a guard with its guess limit, what processes share, and a login.
// It imports nothing of the package, so that each program decides how that is loaded.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';

export const SECRET = 'not-so-secret-but-long-enough-for-a-test';
const LIMIT = 2;

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
 * @param lib the names of the package, and `Passport`, `express` and `session`.
 * @param serve mounts the routes, and returns `{ port, close }`.
 * @param redis `{ client, subscriber, prefix }`, for a shop that shares its answers.
 */
export async function runShop(lib, serve = serveWithExpress, redis = undefined) {
  const sandbox = lib.createSandbox();
  const service = await sandbox.listen(0);
  const { guessLimit, cache, tokenStore } = storesOf(lib, redis);
  const { baseUrl, authUrl, apiKey, appId, appSecret } = service;
  const keyApi = new lib.KeyApi({ baseUrl, apiKey, guessLimit, cache });
  const loginApi = new lib.LoginApi({ authUrl, appId, appSecret });
  const shop = await serve(lib, { keyApi, loginApi, tokenStore });
  const ask = visitor(shop.port);

  await guardWorks(ask, sandbox);
  if (redis) await processesShare(lib, sandbox, { baseUrl, apiKey }, redis);
  await loginWorks(ask, sandbox, shop.port);

  await shop.close();
  await Promise.all([keyApi.close(), loginApi.close(), service.close()]);
  console.log('works');
}

function storesOf(lib, redis) {
  if (!redis) return { guessLimit: { limit: LIMIT }, tokenStore: new lib.MemoryTokenStore() };
  const { client, prefix } = redis;
  return {
    guessLimit: new lib.RedisGuessLimit({ client, prefix, limit: LIMIT }),
    cache: { shared: new lib.RedisCache(redis) },
    tokenStore: new lib.RedisTokenStore({ client, prefix }),
  };
}

function serveWithExpress(lib, { keyApi, loginApi, tokenStore }) {
  const passport = new lib.Passport();
  passport.use(
    new lib.MarketplaceStrategy({ loginApi, tokenStore }, async ({ profile }) => ({
      id: profile.id,
    })),
  );
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user, done) => done(null, user));
  const app = lib.express();
  app.get('/download', lib.requirePurchase(keyApi, { item: 1042 }), (req, res) =>
    res.json({ item: lib.purchaseOf(req).item.id }),
  );
  app.use(lib.session({ secret: SECRET, resave: false, saveUninitialized: false }));
  app.use(passport.session());
  app.get('/login', passport.authenticate('marketplace'));
  app.get(
    '/callback',
    passport.authenticate('marketplace', { failWithError: true }),
    lib.loadUser(loginApi, { tokenStore }),
    (req, res) => res.json({ id: req.user.id, name: lib.userOf(req).user_name }),
  );
  app.use(lib.errorHandler({ log: false }));
  return listen(app);
}

/** One browser, with its cookies. */
function visitor(port) {
  const jar = new Map();
  return async (path, headers = {}) => {
    const { pathname, search } = new URL(path, 'http://localhost');
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
    const res = await fetch(`http://127.0.0.1:${port}${pathname}${search}`, {
      headers: { ...headers, ...(cookie && { cookie }) },
      redirect: 'manual',
      signal: AbortSignal.timeout(15_000),
    });
    for (const line of res.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      jar.set(name, value);
    }
    return { status: res.status, headers: res.headers, text: await res.text() };
  };
}

const codeOf = ({ codes }, wanted) => codes.find(({ kind }) => kind === wanted).code;

async function guardWorks(ask, sandbox) {
  const download = async (code) => {
    const headers = { accept: 'application/json', ...(code && { 'x-purchase-code': code }) };
    const { status, text } = await ask('/download', headers);
    const body = JSON.parse(text);
    return [status, body.code ?? body.item];
  };
  const supported = codeOf(sandbox, 'supported');
  assert.deepEqual(await download(), [402, 'purchase_required']);
  assert.deepEqual(await download(supported), [200, 1042]);
  const otherItem = await download(codeOf(sandbox, 'other-item'));
  assert.deepEqual(otherItem, [403, 'purchase_item_mismatch']);
  for (let i = 0; i < LIMIT; i++) {
    assert.deepEqual(await download(randomUUID()), [403, 'purchase_code_invalid']);
  }
  assert.deepEqual(await download(randomUUID()), [429, 'too_many_attempts']);
}

/** Another process finds the answer and the failed attempts in Redis. */
async function processesShare(lib, sandbox, { baseUrl, apiKey }, redis) {
  for (let attempt = 1; ; attempt++) {
    const { guessLimit, cache } = storesOf(lib, redis);
    const keyApi = new lib.KeyApi({ baseUrl, apiKey, guessLimit, cache });
    const decide = async (code) => {
      const decision = await lib.checkPurchase(keyApi, code, { client: '127.0.0.1' });
      return (decision.error ?? decision.denial)?.code ?? decision.verdict;
    };
    const before = sandbox.requests.length;
    const answers = [await decide(codeOf(sandbox, 'supported')), await decide(randomUUID())];
    const requests = sandbox.requests.length - before;
    await keyApi.close();
    try {
      assert.deepEqual([...answers, requests], ['valid', 'too_many_attempts', 0]);
      return;
    } catch (error) {
      // On a busy machine Redis misses the deadline of a call, and the service is asked instead.
      if (attempt === 5) throw error;
      await setTimeout(1500);
    }
  }
}

async function loginWorks(ask, sandbox, port) {
  sandbox.redirectUrl = `http://127.0.0.1:${port}/callback`;
  const start = await ask('/login');
  assert.equal(start.status, 302, start.text);
  assert.match(start.headers.get('location'), /\/api\/oauth\?app_id=/);
  const done = await ask(sandbox.acceptLogin('3001'));
  assert.equal(done.status, 200, done.text);
  assert.deepEqual(JSON.parse(done.text), { id: '3001', name: 'mira.solheim' });
  // In a separate browser, because the next login of this one would ask "Continue as NAME?".
  const stranger = await visitor(port)('/callback?auth_key=made-up');
  // Nest makes 401 of whatever failed.
  assert.match(String(stranger.status), /^(401|403)$/, stranger.text);
  const exchanges = sandbox.requests.filter(({ path }) => /authorize/.test(path));
  assert.equal(exchanges.length, 1, 'one login, one exchange');
}

// What every framework, bundle and runtime of the matrix does for real: a guard with its guess limit, an
// outage, and a login. The framework's file only mounts the routes.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, request } from 'node:http';
import {
  errorHandler,
  KeyApi,
  LoginApi,
  loadUser,
  MarketplaceStrategy,
  MemoryTokenStore,
  problemOf,
  purchaseOf,
  requirePurchase,
  userOf,
} from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { Passport } from 'passport';

const SECRET = 'not-so-secret-but-long-enough-for-a-test';
const LIMIT = 2;
const { MARKETGATE_FETCH } = process.env;

/**
 * Runs a shop to its end. The process must then end by itself.
 *
 * @param serve mounts the routes, and gives `{ port, close, without }`: `without` names the parts that it
 * does not have ("login"). A server that does not use these routes can also give its `path`, its `limit` of
 * failed attempts, and `ask` for another protocol.
 */
export function runShop(serve) {
  run(serve).then(
    () => console.log('works'),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}

export const listen = (handler) => listening(createServer(handler));

export async function listening(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { port: server.address().port, close };
}

async function run(serve) {
  const sandbox = createSandbox();
  const { baseUrl, authUrl, apiKey, appId, appSecret, close } = await sandbox.listen();
  const options = { retries: 0, ...(MARKETGATE_FETCH && { fetch: globalThis.fetch }) };
  const keyApi = new KeyApi({ baseUrl, apiKey, ...options });
  const loginApi = new LoginApi({ authUrl, appId, appSecret, ...options });
  const services = { baseUrl, authUrl, apiKey, appId, appSecret };
  const shop = await serve({ ...partsOf(keyApi, loginApi), services, cookieSecret: SECRET });
  const ask = shop.ask ?? visitor(shop.port);
  const without = shop.without ?? [];

  await guardWorks(ask, sandbox, shop);
  if (!without.includes('login')) await loginWorks(ask, sandbox, shop.port);
  const { code: supported } = sandbox.codes.find(({ kind }) => kind === 'supported');
  await shop.check?.({ ask, supported, wrong: randomUUID() });

  await shop.close();
  await Promise.all([keyApi.close(), loginApi.close(), close()]);
}

function partsOf(keyApi, loginApi) {
  const passport = new Passport();
  const tokenStore = new MemoryTokenStore();
  const loginAttempts = { cookieSecret: SECRET };
  const strategy = (options) =>
    new MarketplaceStrategy({ loginApi, tokenStore, ...options }, ({ profile }) => ({
      id: profile.id,
    }));
  passport.use(strategy({ loginAttempts }));
  return {
    guard: requirePurchase(keyApi, { item: 1042, guessLimit: { limit: LIMIT } }),
    itemOf: (req) => ({ item: purchaseOf(req).item.id }),
    /** For `/broken`: a mistake in the app's own function. */
    broken: requirePurchase(keyApi, {
      item: () => {
        throw new Error('a mistake of the app');
      },
    }),
    authenticate: passport.authenticate('marketplace', { session: false }),
    /** For `/callback`, after `authenticate`. */
    loadUser: loadUser(loginApi, { tokenStore }),
    userOf: (req) => ({ id: req.user.id, name: userOf(req).user_name }),
    onError: errorHandler({ log: false }),
    /** For an app whose attempts are in its session. */
    sessionStrategy: strategy(),
    ...{ loginApi, tokenStore, loginAttempts, problemOf },
  };
}

/** One browser at one address, with its cookies. */
function visitor(port) {
  const jar = new Map();
  return (path, { headers, localAddress } = {}) =>
    new Promise((resolve, reject) => {
      const { pathname, search } = new URL(path, 'http://localhost');
      const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
      const options = {
        port,
        host: '127.0.0.1',
        path: pathname + search,
        agent: false,
        localAddress,
      };
      const req = request(
        { ...options, headers: { ...headers, ...(cookie && { cookie }) } },
        (res) => {
          for (const line of res.headers['set-cookie'] ?? []) {
            const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
            jar.set(name, value);
          }
          let text = '';
          res.setEncoding('utf8');
          res.on('data', (chunk) => {
            text += chunk;
          });
          res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, text }));
        },
      );
      req.setTimeout(15_000, () => req.destroy(new Error(`no answer to ${path}`)));
      req.on('error', reject).end();
    });
}

async function guardWorks(ask, sandbox, { path = '/download', limit = LIMIT, without = [] }) {
  const codeOf = (wanted) => sandbox.codes.find(({ kind }) => kind === wanted).code;
  const download = async (code, localAddress) => {
    const headers = { accept: 'application/json', ...(code && { 'x-purchase-code': code }) };
    const { status, text, headers: answered } = await ask(path, { headers, localAddress });
    const body = parsed(text);
    if (status === 429) assert.ok(answered['retry-after'] > 0);
    return [status, answerOf(body) ?? text];
  };
  assert.deepEqual(await download(), [402, 'purchase_required']);
  assert.deepEqual(await download(codeOf('supported')), [200, 1042]);
  assert.deepEqual(await download(codeOf('other-item')), [403, 'purchase_item_mismatch']);

  for (let i = 0; i < limit; i++) {
    assert.deepEqual(await download(randomUUID()), [403, 'purchase_code_invalid']);
  }
  assert.deepEqual(await download(randomUUID()), [429, 'too_many_attempts']);
  assert.deepEqual(await download(codeOf('supported')), [200, 1042], 'a customer at that address');
  const other = await download(randomUUID(), '127.0.0.2');
  assert.deepEqual(other, [403, 'purchase_code_invalid'], 'somebody at another address');

  sandbox.faults.errorRate = 1;
  const unasked = await download(codeOf('extended'), '127.0.0.3');
  assert.deepEqual(unasked, [503, 'service_unavailable']);
  assert.deepEqual(await download(codeOf('supported')), [200, 1042], 'known before the outage');
  sandbox.faults.errorRate = 0;

  if (without.includes('middleware') || without.includes('broken')) return;
  const { status } = await ask('/broken', { headers: { 'x-purchase-code': codeOf('supported') } });
  assert.equal(status, 500, 'a mistake of the app is its own');
}

async function loginWorks(ask, sandbox, port) {
  const origin = `http://127.0.0.1:${port}`;
  sandbox.redirectUrl = `${origin}/callback`;
  const exchanges = () => sandbox.requests.filter(({ path }) => /authorize/.test(path)).length;

  // Another browser, because this one would be asked "Continue as NAME?" at its next login.
  const stranger = await visitor(port)(`/callback?auth_key=made-up`);
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

/** tRPC and GraphQL have an envelope around it. */
const answerOf = ({ code, item, result, error, data, errors }) =>
  code ??
  item ??
  result?.data.item ??
  error?.data.problem.code ??
  data?.download ??
  errors?.[0].extensions.code;

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

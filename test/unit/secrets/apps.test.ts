import { inspect } from 'node:util';
import express5 from 'express';
import express4 from 'express4';
import {
  EncryptedTokenStore,
  errorHandler,
  fromQuery,
  LoginApi,
  loadAccount,
  loadItem,
  loadItems,
  loadUser,
  MarketplaceStrategy,
  MemoryTokenStore,
  requireAccessToken,
  requirePurchase,
  type TokenStore,
} from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { RedisTokenStore } from 'marketgate/redis';
import type { SandboxFaults } from 'marketgate/sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { run } from '../../../src/cli/program.js';
import { listen } from '../../support/listen.js';
import { expectClean, failureOf, SENTINEL } from '../../support/secrets/support/sentinels.js';
import { openShop } from '../../support/shop.js';
import { cookieBrowser, drive, fakeLoginApi, requestOf } from '../../support/strategy-harness.js';

const { apiKey, appSecret, authKey, accessToken, code, wrongCode } = SENTINEL;
const ACCEPTS = ['text/html', 'application/problem+json'];
const FAULTS: [name: string, fault: Partial<SandboxFaults>][] = [
  ['nothing', {}],
  ['an outage', { errorRate: 1 }],
  ['a page', { html: true }],
  ['a limit', { rateLimit: 40 }],
  ['a cut body', { truncated: true }],
  ['a redirect', { redirect: true }],
  ['text ahead of the JSON', { warnings: true }],
];

const brokenStore = (): TokenStore => {
  const broken = async (): Promise<never> => {
    throw Object.assign(new Error(`SET token:7 ${accessToken}`), {
      command: { args: [accessToken] },
    });
  };
  return { get: broken, set: broken, delete: broken, claim: broken };
};

describe.each<[string, typeof express5, boolean]>([
  ['with errorHandler', express5, true],
  // What Express itself makes of an error differs between its versions.
  ['without errorHandler on Express 5', express5, false],
  ['without errorHandler on Express 4', express4, false],
])('an app %s', (_name, express, isHandled) => {
  it.each(FAULTS.slice(0, 3))('answers no secret when its service has %s', async (_what, fault) => {
    // A key that the service does not know, and codes that nobody has: sentinels all.
    const shop = await openShop({ apiKey });
    const tokenStore = new MemoryTokenStore();
    await tokenStore.set('7', { value: accessToken, issuedAt: 0, expiresAt: Date.now() + 9e6 });
    const loginApi = new LoginApi({ authUrl: shop.baseUrl, appId: 'app', appSecret, retries: 0 });
    onTestFinished(() => loginApi.close());
    Object.assign(shop.sandbox.faults, fault);
    const app = express();
    app.use(express.json(), (req, _res, next) => {
      req.user = { id: '7' };
      next();
    });
    app.post('/guard', requirePurchase(shop.keyApi));
    app.get('/query', requirePurchase(shop.keyApi, { code: fromQuery('code') }));
    app.get('/account', loadAccount(shop.keyApi));
    app.get('/items', loadItems(shop.keyApi));
    app.get('/item/:id', loadItem(shop.keyApi));
    app.get('/user', loadUser(loginApi, { tokenStore }));
    app.get('/broken', requireAccessToken({ tokenStore: brokenStore() }));
    app.use((_req, res) => void res.json({ reached: true }));
    if (isHandled) app.use(errorHandler({ loginPath: '/login' }));
    const origin = await listen(app);
    const json = { 'content-type': 'application/json' };
    const post = (body: object) => ({ method: 'POST', headers: json, body: JSON.stringify(body) });
    const requests: [string, RequestInit?][] = [
      ['/guard', { method: 'POST', headers: { 'x-purchase-code': wrongCode } }],
      ['/guard', post({ purchase_code: code })],
      ['/guard', post({ purchase_code: [code] })],
      ...['/account', '/items', '/item/1042', `/item/${code}`, '/user', '/broken'].map(
        (path): [string] => [path],
      ),
      [`/query?code=${wrongCode}`],
    ];

    for (const accept of ACCEPTS) {
      for (const [path, init] of requests) {
        const headers = { ...init?.headers, accept };
        const answer = await fetch(origin + path, { ...init, headers, redirect: 'manual' });
        expect(answer.status).not.toBe(200);
        expectClean(await answer.text(), JSON.stringify([...answer.headers]));
      }
    }
    expectClean(JSON.stringify(shop.sandbox.requests));
  });
});

describe('the strategy', () => {
  const verify = async (): Promise<false> => false;
  const strategyOf = (options: object = {}): MarketplaceStrategy =>
    new MarketplaceStrategy({ loginApi: fakeLoginApi().loginApi, ...options }, verify);

  it('shows no secret in a debugger, a log or JSON', () => {
    const loginApi = new LoginApi({ authUrl: 'https://market.example', appId: 'app', appSecret });
    const strategy = new MarketplaceStrategy(
      { loginApi, loginAttempts: { cookieSecret: [SENTINEL.cookieSecret] } },
      verify,
    );
    expectClean(strategy, inspect({ strategy }, { showHidden: true, depth: null }));
  });

  it.each<[string, object, object]>([
    ['a callback that nobody began', { auth_key: authKey }, {}],
    ['an auth_key in a list', { auth_key: [authKey, authKey] }, {}],
    ['an auth_key in an object', { auth_key: { x: authKey } }, {}],
    ['an auth_key in another parameter', { x: `1?auth_key=${authKey}` }, {}],
    ['a prefetch', { auth_key: authKey }, { headers: { 'sec-purpose': 'prefetch' } }],
    ['a request without a session', { auth_key: authKey }, { session: undefined }],
    ['a verify that says no', { auth_key: authKey }, { isStarted: true }],
  ])(
    '%s ends without a secret',
    async (_what, query, { isStarted, ...more }: { isStarted?: boolean }) => {
      const strategy = strategyOf();
      const session = {};
      if (isStarted) await drive(strategy, requestOf({}, { session }));
      const outcomes = await drive(strategy, requestOf(query, { session, ...more }));
      expect(outcomes).toHaveLength(1);
      expectClean(...outcomes);
    },
  );

  it('a token store that fails ends without a secret', async () => {
    const strategy = strategyOf({ tokenStore: brokenStore() });
    const session = {};
    await drive(strategy, requestOf({}, { session }));
    const outcomes = await drive(strategy, requestOf({ auth_key: authKey }, { session }));
    expect(outcomes.map(([outcome]) => outcome)).toEqual(['error']);
    expectClean(...outcomes);
  });

  it('the cookie of an attempt holds nothing of its secret', async () => {
    const loginAttempts = { cookieSecret: [SENTINEL.cookieSecret] };
    const strategy = strategyOf({ loginAttempts });
    const browser = cookieBrowser();
    await drive(strategy, browser.request().req);
    expectClean(JSON.stringify(browser.cookies));
  });
});

describe('stores', () => {
  const keys = [SENTINEL.encryptionKey];
  const token = { value: accessToken, issuedAt: 0, expiresAt: Date.now() + 9e6 };
  const failing = async (): Promise<never> => {
    throw Object.assign(new Error(`failed: SET x ${accessToken}`), { parameters: [accessToken] });
  };
  const nothing = (): void => {};
  const client = {
    ...{ isOpen: true, isReady: true, get: failing, set: failing, del: failing, eval: failing },
    ...{ publish: failing, subscribe: failing, pTTL: failing, connect: failing },
    ...{ duplicate: nothing, on: nothing, once: nothing },
  };
  const keyv = { get: failing, set: failing, delete: failing };

  it.each<[string, TokenStore]>([
    ['RedisTokenStore', new RedisTokenStore({ client: client as never })],
    ['KeyvTokenStore', new KeyvTokenStore({ keyv: keyv as never })],
  ])('%s: the errors of what is below it are replaced', async (_name, store) => {
    expectClean(
      await failureOf(() => store.get('7')),
      await failureOf(() => store.set('7', token)),
      await failureOf(() => store.delete('7')),
      await failureOf(() => store.set('7', { value: accessToken } as never)),
    );
  });

  it('that hold a token show it to nobody who prints them', async () => {
    const memory = new MemoryTokenStore();
    await memory.set('7', token);
    const encrypted = new EncryptedTokenStore(memory, { keys });
    await encrypted.set('8', token);
    expectClean(memory, encrypted);
  });

  it.each<[string, unknown]>([
    ['too short', [SENTINEL.encryptionKey.slice(0, 20)]],
    ['no base64', [`${SENTINEL.encryptionKey}!`]],
    ['not in a list', SENTINEL.encryptionKey],
    ['in an object', [{ key: SENTINEL.encryptionKey }]],
  ])('EncryptedTokenStore does not repeat a key that is %s', async (_what, wrong) => {
    expectClean(
      await failureOf(
        () => new EncryptedTokenStore(new MemoryTokenStore(), { keys: wrong as never }),
      ),
    );
  });
});

describe('the command line', () => {
  async function output(args: string[], environment: NodeJS.ProcessEnv): Promise<string> {
    const lines: string[] = [];
    const print = (text: string) => void lines.push(text);
    const terminal = { color: false, out: print, err: print };
    const code = await run(args, { terminal, environment, listenForStop: () => async () => {} });
    return `${lines.join('\n')}\nexit code ${code}`;
  }

  it.each(FAULTS)('shows no secret of a service with %s', async (_what, fault) => {
    const { sandbox, baseUrl } = await openShop();
    Object.assign(sandbox.faults, fault);
    const environment = {
      MARKETPLACE_BASE_URL: baseUrl,
      MARKETPLACE_API_KEY: apiKey,
      MARKETPLACE_AUTH_URL: baseUrl,
      MARKETPLACE_APP_ID: 'app-7',
      MARKETPLACE_APP_SECRET: appSecret,
      REDIS_URL: `redis://user:${SENTINEL.cacheSecret}@127.0.0.1:1`,
    };
    for (const json of [[], ['--json']]) {
      expectClean(await output(['doctor', ...json], environment));
      expectClean(await output(['verify', code, ...json], environment));
    }
  });

  it.each([
    [['verify', code, '--nonsense']],
    [['verify', code, code]],
    [['doctor', '--base-url', `https://user:${apiKey}@market.example`]],
    [['doctor', '--auth-url', `https://market.example?x=${appSecret}`]],
  ])('shows no secret of wrong usage: %#', async (args) => {
    const environment = {
      MARKETPLACE_BASE_URL: 'http://127.0.0.1:1',
      MARKETPLACE_API_KEY: apiKey,
      MARKETPLACE_APP_ID: 'a',
      MARKETPLACE_APP_SECRET: appSecret,
    };
    expectClean(await output(args, environment));
  });
});

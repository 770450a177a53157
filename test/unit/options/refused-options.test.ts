import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { inspect } from 'node:util';
import {
  checkPurchase,
  EncryptedTokenStore,
  errorHandler,
  firstOf,
  fromBody,
  fromHeader,
  KeyApi,
  LoginApi,
  loadAccount,
  loadItem,
  loadItems,
  loadPurchase,
  loadUser,
  MarketplaceStrategy,
  MemoryHolderStore,
  MemoryTokenStore,
  requireAccessToken,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import { RedisHolderStore } from 'marketgate/redis';
import { expect, it } from 'vitest';
import { keyApiOn } from '../../support/key-api-service.js';
import { FakeNodeRedis } from '../stores/redis-fakes.js';

// biome-ignore lint/suspicious/noExplicitAny: what is given here is wrong in every way.
type Given = any;

const baseUrl = 'https://market.example';
const app = { authUrl: baseUrl, appId: 'app', appSecret: 'app-secret' };
const loginApi = new LoginApi(app);
const tokenStore = new MemoryTokenStore();
const holder = { store: new MemoryHolderStore(), id: () => 'anna' };
const client = new FakeNodeRedis().asClient;

/** The KeyApi is an option here, too. */
const onKeyApi = (make: Given) => (given: Given) => {
  const { keyApi, ...options } = { keyApi: new KeyApi({ baseUrl, apiKey: 'key' }), ...given };
  return make(keyApi, options);
};

/** How something is made with some options, where the others are right. */
const MAKERS = {
  requirePurchase: onKeyApi(requirePurchase),
  loadPurchase: onKeyApi(loadPurchase),
  loadItem: onKeyApi(loadItem),
  loadItems: onKeyApi(loadItems),
  loadAccount: onKeyApi(loadAccount),
  checkPurchase: onKeyApi((keyApi: Given, options: Given) =>
    checkPurchase(keyApi, 'AB12', { client: 'anna', ...options }),
  ),
  loadUser: (given: Given) => loadUser(given.loginApi, { tokenStore }),
  requireAccessToken: requireAccessToken,
  requireLogin: requireLogin,
  errorHandler,
  fromHeader: ({ name }: Given) => fromHeader(name),
  fromBody: ({ name }: Given) => fromBody(name),
  MarketplaceStrategy: (given: Given) =>
    new MarketplaceStrategy({ loginApi, ...given }, () => false),
  KeyApi: (given: Given) => new KeyApi({ baseUrl, apiKey: 'key', ...given }),
  LoginApi: (given: Given) => new LoginApi({ ...app, ...given }),
  RedisHolderStore: (given: Given) => new RedisHolderStore({ client, ...given }),
  EncryptedTokenStore: (given: Given) => new EncryptedTokenStore(tokenStore, given),
};

type Owner = keyof typeof MAKERS;

/** Makes something with one option, which can be a part of another one, as in "holder.id". */
async function make(owner: Owner, path: string, value: unknown) {
  const [name = '', ...parts] = path.split('.');
  const given = parts.reduceRight<Given>((inner, part) => ({ [part]: inner }), value);
  return MAKERS[owner]({ [name]: name === 'holder' && parts[0] ? { ...holder, ...given } : given });
}

const [RP, MS] = ['requirePurchase', 'MarketplaceStrategy'] as const;
const PATH = 'path on this site';
const ELSEWHERE = ['https://evil.example', '//evil.example'];
/** Hosts that only look like this machine. */
const ALMOST_LOCAL = ['http://127.0.0.1.evil.example', 'http://192.168.1.2'];
const UNKNOWN = 'unknown option';
const LONG = 's'.repeat(32);

// An option of each kind: what others of its kind refuse is the same code.
it.each<[owner: Owner, option: string, says: string, ...wrong: unknown[]]>([
  [RP, 'keyApi', 'a KeyApi', {}, undefined, 'key'],
  [RP, 'licenceType', 'known are', 'Extended'],
  [RP, 'code', 'fromHeader("x-purchase-code")', 'x-purchase-code'],
  [RP, 'item', 'whole number', -1, '1042', null, [], [1, '2']],
  [RP, 'licenseType', 'several', '', 7, null, []],
  [RP, 'supported', 'true or false', 1, 'yes'],
  [RP, 'accept', 'function', 1, true],
  [RP, 'onDenied', 'function', 1, {}],
  ...['item', 'licenseType', 'supported', 'accept', 'holder'].map(
    (condition): [Owner, string, string, unknown] => [
      RP,
      condition,
      'is given, but undefined',
      undefined,
    ],
  ),
  [RP, 'onUnknown', '"deny", "allow"', 'maybe'],
  [RP, 'holder.store', 'a holder store', undefined],
  [RP, 'holder.store', '"holders" is missing', { take() {}, release() {} }],
  [RP, 'holder.id', 'function', 'anna', undefined],
  [RP, 'holder.max', 'whole number, 1 or more', 0],
  [RP, 'holder.seats', UNKNOWN, 3],
  [RP, 'client', 'function', true, 'anna', null],
  ['loadPurchase', 'onUnknown', 'known are code, client, item', 'deny'],
  ['loadItem', 'keyApi', '"getItem" is missing', {}],
  ['loadItems', 'keyApi', '"listItems" is missing', {}],
  ['loadAccount', 'keyApi', '"getAccount" is missing', {}],
  ['loadUser', 'loginApi', '"getUser" is missing', {}],
  ['requireAccessToken', 'tokenStore', 'token store', undefined],
  ['requireLogin', 'loginPath', PATH, 'x', ...ELSEWHERE, 7],
  ['errorHandler', 'loginPath', PATH, 'x', ...ELSEWHERE],
  ['errorHandler', 'redeemPath', PATH, 'x', ...ELSEWHERE],
  ['errorHandler', 'log', 'function', true, 'errors.log'],
  ['errorHandler', 'site.logo', PATH, 'javascript:alert(1)', '//cdn.example/logo.svg'],
  ['errorHandler', 'site.home', PATH, '/\\evil.example', 'help@shop.example'],
  ['errorHandler', 'site.contact', 'an e-mail address', 'mailto:help@shop.example'],
  ['errorHandler', 'site.words.login_failed.title', 'string', 1, ' '],
  ['errorHandler', 'site.words.logn', UNKNOWN, {}],
  ['checkPurchase', 'client', 'must give text', { ip: '10.0.0.1' }],
  [MS, 'loginApi', 'a LoginApi; "exchange" is missing', { loginUrl: () => '' }],
  [MS, 'callbackURL', UNKNOWN, '/callback'],
  [MS, 'tokenStore', 'a token store', 'redis', null],
  [MS, 'state', 'true or false', 'yes'],
  [MS, 'confirm', '"auto", true or false', 1, 'always', null],
  [MS, 'confirm.ask', '"auto", true or false', 'always'],
  [MS, 'loginAttempts', 'cookieSecret', 'cookie', null],
  [MS, 'loginAttempts.cookieSecret', 'a secret', undefined, []],
  ['fromBody', 'name', 'string', '', ' ', 7, null],
  ['fromBody', 'name', 'must be the name of a field', 'x-code\n', ' x-code'],
  ['fromHeader', 'name', 'must be the name of a header', 'X-Code:', 'x code', 'x-cöde', '"x-code"'],
  ['fromHeader', 'name', 'must not have an underscore', 'x_purchase_code'],
  ['KeyApi', 'baseUrl', 'absolute http or https URL', undefined, 42, '', 'market.example', '/api'],
  ['KeyApi', 'baseUrl', 'https', 'ftp://market.example', 'http://market.example', ...ALMOST_LOCAL],
  ['KeyApi', 'baseUrl', 'must not', 'https://u:pw@x.example', `${baseUrl}?x=1`, `${baseUrl}#x`],
  ['KeyApi', 'apiKey', 'a non-empty string or a function', undefined, '', ' \t', ['key']],
  ['KeyApi', 'timeout', 'milliseconds', 0, '5s', Number.NaN],
  ['KeyApi', 'retries', 'whole number', 1.5, -1, '2'],
  ['KeyApi', 'maxResponseBytes', 'number', -1],
  ['KeyApi', 'allowInsecure', 'true or false', 'false'],
  ['KeyApi', 'fetch', 'must be a function', 'fetch'],
  ['KeyApi', 'validationEncoding', '"form", "json", "query"', 'xml'],
  ['KeyApi', 'codePattern', 'RegExp', '^MK-'],
  ['KeyApi', 'cache', 'an object of options, or false', true, null],
  ['KeyApi', 'cache.tll', UNKNOWN, 1],
  ['KeyApi', 'cache.ttl', 'whole number', -1, '5m'],
  ['KeyApi', 'cache.staleIfError', 'whole number', -1],
  ['KeyApi', 'cache.max', 'cache: false', 0],
  ['KeyApi', 'cache.max', 'from 1 to', 2 ** 24 + 1],
  ['KeyApi', 'cache.shared', '"publish" is missing', { read() {}, write() {}, withdraw() {} }],
  ['KeyApi', 'guessLimit', '{ limit, windowMs, total }', null],
  ['KeyApi', 'guessLimit', '"add" is missing', { check() {} }],
  ['KeyApi', 'guessLimit.limit', 'a positive number (guesses)', 0],
  ['KeyApi', 'guessLimit.limit', 'a whole number', 1.5],
  ['KeyApi', 'guessLimit.windowMs', 'must be at most', 2 ** 31],
  ['LoginApi', 'authUrl', 'https', 'http://market.example'],
  ['LoginApi', 'appSecret', 'string', undefined],
  ['LoginApi', 'authorizeMethod', '"post", "get"', 'PUT'],
  ['LoginApi', 'appId', 'string', '', 7],
  ['LoginApi', 'tokenLifetime', 'milliseconds', 0, 3600],
  // As the environment or a file gives them.
  ['KeyApi', 'apiKey', 'quotes', '"key"', ' "key" ', '\u201ckey\u201d'],
  ['KeyApi', 'apiKey', 'line break', 'key\n', 'key\r', 'k\ney'],
  ['KeyApi', 'baseUrl', 'quotes', `"${baseUrl}"`],
  ['KeyApi', 'baseUrl', 'line break', `${baseUrl}\n`],
  ['LoginApi', 'authUrl', 'quotes', `'${baseUrl}'`],
  ['LoginApi', 'appId', 'quotes', '"app"'],
  ['LoginApi', 'appSecret', 'line break', 'app-secret\n'],
  [MS, 'loginAttempts.cookieSecret', 'quotes', `"${LONG}"`],
  ['RedisHolderStore', 'secret', 'quotes', `"${LONG}"`],
  ['EncryptedTokenStore', 'keys', 'quotes', [`"${'A'.repeat(43)}="`]],
])('%s: a wrong option "%s" is a TypeError that names it and says %j', async (...row) => {
  const [owner, path, says, ...wrong] = row;
  const named = new RegExp(`^${owner}: .*"(?:.*\\.)?${path.split('.').at(-1)}(?:\\[0\\])?"`);
  for (const value of wrong) {
    const error = await make(owner, path, value).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(named);
    expect(error.message).toContain(says);
  }
});

it.each<[Owner, string, ((secret: unknown) => unknown)?]>([
  ['RedisHolderStore', 'secret'],
  [MS, 'loginAttempts.cookieSecret', (secret) => [LONG, secret]],
])('%s: the secret %s has 32 characters or more, and no error repeats it', async (...row) => {
  const [owner, option, wrap = (secret: unknown) => secret] = row;
  const short = LONG.slice(1);
  for (const secret of [short, `keyboard cat${' '.repeat(30)}`, '', 1e14, Buffer.alloc(32)]) {
    const error = await make(owner, option, wrap(secret)).catch((it) => it);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain(`option "${option}" must be a secret of at least 32`);
    expect(inspect(error)).not.toMatch(/keyboard cat|sssss/);
  }
  await make(owner, option, wrap(LONG));
});

it.each<[says: string, run: () => unknown]>([
  ['"loginApi"', () => new MarketplaceStrategy(undefined as never, () => null)],
  ['"client" must say who is counted', () => checkPurchase(keyApiOn().keyApi, 'AB12', {} as never)],
  [
    '"holder.id" must say which account',
    () => MAKERS.checkPurchase({ holder: { store: holder.store } }),
  ],
  ['"signal" must be an AbortSignal', () => MAKERS.checkPurchase({ signal: {} })],
  ['every source must be a function', () => firstOf('' as never)],
  ['firstOf', () => firstOf()],
  ...[undefined, null, baseUrl].map((options): [string, () => unknown] => [
    'KeyApi: ',
    () => new KeyApi(options as Given),
  ]),
  ['verify must be', () => new MarketplaceStrategy({ loginApi }, undefined as never)],
])('what is missing or fits nowhere is a TypeError, too: %s', async (says, run) => {
  const running = (async () => run())();
  await expect(running).rejects.toThrow(TypeError);
  await expect(running).rejects.toThrow(says);
});

it('KeyApi: the address is https, or http on this machine, or what allowInsecure permits', async () => {
  for (const url of [
    ...['https://market.example/', 'https://market.example:8443/a//', 'http://localhost:3000'],
    ...['http://sandbox.localhost', 'http://127.8.9.1', 'http://[::1]:1'],
  ]) {
    await make('KeyApi', 'baseUrl', url);
  }
  const options = { baseUrl: 'http://evil.example', apiKey: 'key' };
  expect(() => new KeyApi({ ...options, allowInsecure: true })).not.toThrow();
  expect(() => new KeyApi(options)).not.toThrow(/evil/);
});

it('KeyApi: the longest window of guesses is the longest delay of a timer', () => {
  const guessLimit = { windowMs: 2 ** 31 - 1 };
  expect(() => new KeyApi({ baseUrl, apiKey: 'key', guessLimit })).not.toThrow();
});

it.each(['"key"', 'key\n'])('an apiKey function that gives %j is said at its call', async (key) => {
  const { keyApi, service } = keyApiOn({}, { apiKey: () => key });
  await expect(keyApi.getAccount()).rejects.toThrow(/"apiKey" gave a key that must not have/);
  expect(service.asked('all')).toBe(0);
});

it.each([
  ['KeyApi', () => new KeyApi({ baseUrl: undefined as never, apiKey: 'k' })],
  ['LoginApi', () => new LoginApi({ ...app, authUrl: undefined as never })],
])('the error of a %s without its address begins at the line that has made it', async (...row) => {
  const error = await (async () => row[1]())().catch((thrown) => thrown);
  const [message, first] = String(error.stack).split('\n');
  expect(message).toContain('is its environment variable set?');
  expect(first).toContain('refused-options.test.ts');
});

it.each<Given>([requireLogin, requirePurchase, loadItems])(
  '%o used without parentheses says so',
  (factory) => {
    const request = new IncomingMessage(new Socket());
    const says = `${factory.name}: it was given a request in place of its options; write`;
    expect(() => factory(request)).toThrow(says);
  },
);

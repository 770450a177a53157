import { inspect } from 'node:util';
import express from 'express';
import * as marketgate from 'marketgate';
import { RedisHolderStore } from 'marketgate/redis';
import request from 'supertest';
import { expect, it } from 'vitest';
import { keyApiOn } from '../../support/key-api-service.js';
import { FakeNodeRedis } from '../stores/redis-fakes.js';

// biome-ignore lint/suspicious/noExplicitAny: what is given here is wrong in every way.
type Given = any;

const {
  EncryptedTokenStore,
  KeyApi,
  LoginApi,
  MarketplaceStrategy,
  MemoryHolderStore,
  MemoryTokenStore,
} = marketgate;
const { checkPurchase, errorHandler, firstOf, loadItems, requireLogin, requirePurchase } =
  marketgate;

const baseUrl = 'https://market.example';
const keyApi = new KeyApi({ baseUrl, apiKey: 'key' });
const loginApi = new LoginApi({ authUrl: baseUrl, appId: 'app', appSecret: 'app-secret' });
const tokenStore = new MemoryTokenStore();
const store = new MemoryHolderStore();
const id = () => 'anna';
const client = new FakeNodeRedis().asClient;

/** What takes its options in another way. A client of the service that comes first is an option here, too. */
const MAKERS: Record<string, (given: Given) => unknown> = {
  checkPurchase: ({ keyApi: api, ...rest }) => checkPurchase(api, 'AB12', rest),
  MarketplaceStrategy: (given) => new MarketplaceStrategy(given, (_input: object) => false),
  KeyApi: (given) => new KeyApi({ baseUrl, apiKey: 'key', ...given }),
  RedisHolderStore: (given) => new RedisHolderStore(given),
  LoginApi: (given) =>
    new LoginApi({ authUrl: baseUrl, appId: 'app', appSecret: 'app-secret', ...given }),
  EncryptedTokenStore: (given) => new EncryptedTokenStore(tokenStore, given),
};

function makerOf(owner: string): (given: Given) => unknown {
  const factory = (marketgate as Given)[owner];
  if (MAKERS[owner]) return MAKERS[owner];
  if (owner.startsWith('from')) return ({ name }) => factory(name);
  if (!/^load|Purchase$/.test(owner)) return factory;
  return ({ keyApi, loginApi, ...rest }) => factory(keyApi ?? loginApi, rest);
}

/** What must be given, and is right. */
const RIGHT: Record<string, object> = {
  requirePurchase: { keyApi },
  loadPurchase: { keyApi },
  loadItem: { keyApi },
  loadUser: { loginApi, tokenStore },
  requireAccessToken: { tokenStore },
  checkPurchase: { keyApi, client: 'anna' },
  MarketplaceStrategy: { loginApi },
  RedisHolderStore: { client },
};
const PARTS: Record<string, object> = { holder: { store, id } };

/** Makes something with one option, which can be a part of another one, as in "holder.id". */
function make(owner: string, path: string, value: unknown) {
  const [option = '', part] = path.split('.');
  const given = part === undefined ? value : { ...PARTS[option], [part]: value };
  return makerOf(owner)({ ...RIGHT[owner], [option]: given });
}

const [RP, AT, MS] = ['requirePurchase', 'requireAccessToken', 'MarketplaceStrategy'];
const PATH = 'path on this site';
const ELSEWHERE = ['https://evil.example', '//evil.example'];
/** Hosts that only look like this machine. */
const ALMOST_LOCAL = ['http://127.0.0.1.evil.example', 'http://192.168.1.2'];
const UNSET = 'is given, but undefined';
const UNKNOWN = 'unknown option';

it.each<[owner: string, option: string, says: string, ...wrong: unknown[]]>([
  [RP, 'keyApi', 'a KeyApi', {}, undefined, 'key'],
  [RP, 'licenceType', 'known are', 'Extended'],
  [RP, 'code', 'fromHeader("x-purchase-code")', 'x-purchase-code'],
  [RP, 'item', 'whole number', -1, '1042', null, [], [1, '2']],
  [RP, 'item', UNSET, undefined],
  [RP, 'licenseType', 'several', '', 7, null, []],
  [RP, 'licenseType', UNSET, undefined],
  [RP, 'supported', 'true or false', 1, 'yes'],
  [RP, 'supported', UNSET, undefined],
  [RP, 'accept', 'function', 1, true],
  [RP, 'accept', UNSET, undefined],
  [RP, 'onUnknown', '"deny", "allow"', 'maybe'],
  [RP, 'onDenied', 'function', 1, {}],
  [RP, 'holder', UNSET, undefined],
  ['checkPurchase', 'holder.id', 'must say which account it is'],
  [RP, 'holder.store', 'a holder store', undefined],
  [RP, 'holder.store', '"holders" is missing', { take() {}, release() {} }],
  [RP, 'holder.id', 'function', 'anna', undefined],
  [RP, 'holder.max', 'whole number, 1 or more', 0],
  [RP, 'holder.seats', UNKNOWN, 3],
  [RP, 'client', 'function', true, 'anna', null],
  ['loadPurchase', 'onUnknown', 'known are code, client, item', 'deny'],
  ['loadItem', 'keyApi', 'a KeyApi', {}, undefined],
  ['loadItem', 'id', 'function', 7],
  ['loadItems', 'keyApi', 'listItems', {}],
  ['loadAccount', 'keyApi', 'getAccount', {}],
  ['loadUser', 'loginApi', 'getUser', {}],
  ['loadUser', 'tokenStore', 'token store', undefined],
  [AT, 'tokenStore', 'token store', undefined],
  [AT, 'tokenStore', '"get" is missing', { set() {}, delete() {} }],
  [AT, 'loginPath', PATH, ...ELSEWHERE],
  [AT, 'userId', 'function', 7, 'id'],
  ['requireLogin', 'loginPath', PATH, 'x', ...ELSEWHERE],
  ['requireLogin', 'path', 'loginPath', '/login'],
  ['errorHandler', 'loginPath', PATH, 'x', ...ELSEWHERE, 7],
  ['errorHandler', 'redeemPath', PATH, 'x', ...ELSEWHERE, 7],
  ['errorHandler', 'log', 'function', true, 'errors.log'],
  ['errorHandler', 'render', 'function', 'page.html'],
  ['checkPurchase', 'client', 'must give text', { ip: '10.0.0.1' }],
  [MS, 'loginApi', 'a LoginApi', {}, undefined],
  [MS, 'loginApi', '"exchange" is missing', { loginUrl: () => '' }],
  [MS, 'tokenStore', 'a token store', 'redis', null],
  [MS, 'state', 'true or false', 'yes'],
  [MS, 'confirm', '"auto", true or false', 1, 'always', null],
  [MS, 'confirm.ask', '"auto", true or false', 'always'],
  [MS, 'confirm.render', 'a function', 'page'],
  [MS, 'confirm.page', UNKNOWN, ''],
  [MS, 'name', 'string', 7, ''],
  [MS, 'passReqToCallback', 'true or false', 'yes'],
  [MS, 'client', 'function', true, 7],
  [MS, 'clock', 'a function', 7],
  [MS, 'callbackURL', UNKNOWN, '/callback'],
  [MS, 'loginAttempts', 'cookieSecret', 'cookie', null],
  [MS, 'loginAttempts.secret', UNKNOWN, 'x'],
  [MS, 'loginAttempts.cookieSecret', 'a secret', undefined, []],
  ...['fromHeader', 'fromBody', 'fromQuery', 'fromSession'].flatMap(
    (source): [string, string, string, ...unknown[]][] => [
      [source, 'name', 'string', '', ' ', 7, null],
      [source, 'name', 'must be the name of a', 'x-code\n', ' x-code'],
    ],
  ),
  ['fromHeader', 'name', 'must be the name of a header', 'X-Code:', 'x code', 'x-cöde', '"x-code"'],
  ['fromHeader', 'name', 'must not have an underscore', 'x_purchase_code'],
  ['KeyApi', 'baseUrl', 'absolute http or https URL', undefined, 42, '', 'market.example', '/api'],
  ['KeyApi', 'baseUrl', 'https', 'ftp://market.example', 'http://market.example', ...ALMOST_LOCAL],
  ['KeyApi', 'baseUrl', 'must not', 'https://u:pw@x.example', `${baseUrl}?x=1`, `${baseUrl}#x`],
  ['KeyApi', 'apiKey', 'a non-empty string or a function', undefined, '', ' \t', ['key']],
  ['KeyApi', 'timeout', 'milliseconds', 0, '5s', Number.NaN],
  ['KeyApi', 'maxResponseBytes', 'number', -1],
  ['KeyApi', 'retries', 'whole number', 1.5],
  ['KeyApi', 'allowInsecure', 'true or false', 'false'],
  ['KeyApi', 'fetch', 'must be a function', 'fetch'],
  ['KeyApi', 'clock', 'function', 0],
  ['KeyApi', 'dispatcher', UNKNOWN, {}],
  ['KeyApi', 'validationEncoding', '"form", "json", "query"', 'xml'],
  ['KeyApi', 'codePattern', 'RegExp', '^MK-'],
  ['KeyApi', 'cache', 'an object of options, or false', true, null],
  ['KeyApi', 'cache.tll', UNKNOWN, 1],
  ...['ttl', 'staleWhileRevalidate', 'staleIfError', 'invalidTtl'].map(
    (age): [string, string, string, ...unknown[]] => [
      'KeyApi',
      `cache.${age}`,
      'whole number',
      -1,
      '5m',
    ],
  ),
  ['KeyApi', 'cache.max', 'cache: false', 0],
  ['KeyApi', 'cache.maxInvalid', 'from 1 to', 2 ** 24 + 1],
  ['KeyApi', 'cache.shared', 'RedisCache', 'redis'],
  ['KeyApi', 'cache.shared', '"publish" is missing', { read() {}, write() {}, withdraw() {} }],
  ['KeyApi', 'guessLimit', '{ limit, windowMs, total }', null],
  ['KeyApi', 'guessLimit', '"add" is missing', { check() {} }],
  ['KeyApi', 'guessLimit.limit', 'a positive number (guesses)', 0],
  ['KeyApi', 'guessLimit.limit', 'a whole number', 1.5],
  ['KeyApi', 'guessLimit.windowMs', 'must be at most', 2 ** 31],
  ['KeyApi', 'guessLimit.keyGenerator', UNKNOWN, () => 'x'],
  ['LoginApi', 'authUrl', 'https', 'http://market.example'],
  ['LoginApi', 'appId', 'string', '', 7],
  ['LoginApi', 'appSecret', 'string', undefined],
  ['LoginApi', 'tokenLifetime', 'milliseconds', 0, 3600],
  ['LoginApi', 'authorizeMethod', '"post", "get"', 'PUT'],
  ['LoginApi', 'appKey', UNKNOWN, 'x'],
  ['KeyApi', 'apiKey', 'quotes', '"key"', ' "key" ', '\u201ckey\u201d'],
  ['KeyApi', 'apiKey', 'line break', 'key\n', 'key\r', 'k\ney'],
  ['KeyApi', 'baseUrl', 'quotes', `"${baseUrl}"`],
  ['KeyApi', 'baseUrl', 'line break', `${baseUrl}\n`],
  ['LoginApi', 'authUrl', 'quotes', `'${baseUrl}'`],
  ['LoginApi', 'appId', 'quotes', '"app"'],
  ['LoginApi', 'appSecret', 'line break', 'app-secret\n'],
  [MS, 'loginAttempts.cookieSecret', 'quotes', `"${'s'.repeat(32)}"`],
  ['RedisHolderStore', 'secret', 'line break', `${'s'.repeat(32)}\n`],
  ['EncryptedTokenStore', 'keys', 'quotes', [`"${'A'.repeat(43)}="`]],
])('%s: a wrong option "%s" is a TypeError that names it and says %j', async (...row) => {
  const [owner, path, says, ...wrong] = row;
  const named = new RegExp(`^${owner}: .*"(?:.*\\.)?${path.split('.').at(-1)}(?:\\[0\\])?"`);
  for (const value of wrong) {
    const making = (async () => make(owner, path, value))();
    await expect(making).rejects.toThrow(TypeError);
    await expect(making).rejects.toThrow(named);
    await expect(making).rejects.toThrow(says);
  }
});

const LONG = 'a-secret-of-32-characters-0123456';
it.each<[owner: string, option: string, wrap?: (secret: unknown) => unknown]>([
  ['RedisHolderStore', 'secret'],
  [MS, 'loginAttempts.cookieSecret'],
  [MS, 'loginAttempts.cookieSecret', (secret) => [LONG, secret]],
])('%s: the secret %s has 32 characters or more, and no error repeats it', async (...row) => {
  const [owner, option, wrap = (secret: unknown) => secret] = row;
  const short = LONG.slice(0, 31);
  for (const secret of [short, `keyboard cat${' '.repeat(30)}`, '', 1e14, Buffer.alloc(32)]) {
    const error = await (async () => make(owner, option, wrap(secret)))().catch((it) => it);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toContain(`option "${option}" must be a secret of at least 32`);
    expect(inspect(error)).not.toMatch(/keyboard cat|a-secret/);
  }
  expect(() => make(owner, option, wrap(LONG.slice(0, 32)))).not.toThrow();
});

it.each<[says: string, run: () => unknown]>([
  [
    'MarketplaceStrategy: option "loginApi"',
    () => new MarketplaceStrategy(undefined as never, () => null),
  ],
  ['option "client" must say who is counted', () => checkPurchase(keyApi, 'AB12', {} as never)],
  [
    'option "client" must say who is counted',
    () => checkPurchase(keyApi, 'AB12', undefined as never),
  ],
  ['"signal" must be an AbortSignal', () => make('checkPurchase', 'signal', {})],
  ['firstOf: every source must be a function', () => firstOf('' as never)],
  ['firstOf', () => firstOf()],
])('what is missing or fits nowhere is a TypeError, too: %s', async (says, run) => {
  const running = (async () => run())();
  await expect(running).rejects.toThrow(TypeError);
  await expect(running).rejects.toThrow(says);
});

it.each([
  ...['https://market.example/', 'https://market.example:8443/a//', 'http://localhost:3000'],
  ...['http://sandbox.localhost', 'http://127.8.9.1', 'http://[::1]:1'],
])('KeyApi: the address can be %s', (url) => {
  expect(() => make('KeyApi', 'baseUrl', url)).not.toThrow();
});

it('KeyApi: the address can be plain http with allowInsecure, and the error of a wrong one does not repeat it', () => {
  const options = { baseUrl: 'http://evil.example', apiKey: 'key' };
  expect(() => new KeyApi({ ...options, allowInsecure: true })).not.toThrow();
  expect(() => new KeyApi(options)).not.toThrow(/evil/);
});

it.each([undefined, null, 'https://market.example', []])(
  'KeyApi: options cannot be %j',
  (given) => {
    expect(() => new KeyApi(given as Given)).toThrow(TypeError);
  },
);

it.each(['"key"', 'key\n'])('an apiKey function that gives %j is said at its call', async (key) => {
  const { keyApi, service } = keyApiOn({}, { apiKey: () => key });
  await expect(keyApi.getAccount()).rejects.toThrow(/"apiKey" gave a key that must not have/);
  expect(service.asked('all')).toBe(0);
});

it.each([
  ['KeyApi', () => new KeyApi({ baseUrl: undefined as never, apiKey: 'k' })],
  ['LoginApi', () => new LoginApi({ authUrl: undefined as never, appId: '1', appSecret: 's' })],
])('the error of a %s without its address begins at the line that has made it', (_name, run) => {
  let error: unknown;
  try {
    run();
  } catch (thrown) {
    error = thrown;
  }
  const [message, first] = String(Object(error).stack).split('\n');
  expect(message).toContain('is its environment variable set?');
  expect(first).toContain('refused-options.test.ts');
});

const three = (_a: 1, _b: 1, _c: 1) => {};
it.each<[string, boolean, unknown, string]>([
  ['that is missing', false, undefined, 'verify must be'],
  ['of 3 arguments', false, three, 'takes 3 arguments; it must take one'],
  ['of 3 arguments', true, three, ', or req, accessToken, '],
  ['of 6 arguments', false, (_a: 1, _b: 1, _c: 1, _d: 1, _e: 1, _f: 1) => {}, ', or accessToken, '],
  ['of 4', true, (_a: 1, _b: 1, _c: 1, _d: 1) => {}, 'takes 4 arguments'],
])('a verify %s, with passReqToCallback %s, is a TypeError', (_what, passReqToCallback, ...row) => {
  const [wrong, says] = row;
  const given = { loginApi, passReqToCallback } as Given;
  const making = () => new MarketplaceStrategy(given, wrong as Given);
  expect(making).toThrow(TypeError);
  expect(making).toThrow(says);
});

it.each<[string, unknown]>([
  ['requireLogin', requireLogin],
  ['errorHandler', errorHandler],
  ['loadItems', loadItems],
  ['requirePurchase', requirePurchase],
])('%s used without parentheses says so, and lets nobody in', async (owner, factory) => {
  const app = express();
  app.use(factory as never, (_req, res) => void res.send('in'));
  app.use(((error, _req, res, _next) => res.send(String(error))) as express.ErrorRequestHandler);
  const says = `TypeError: ${owner}: it was given a request in place of its options; write`;
  expect((await request(app).get('/')).text).toContain(says);
});

import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox, type SandboxOptions } from 'marketgate/sandbox';
import { afterAll, beforeAll, expect, it } from 'vitest';

type Dialect = NonNullable<SandboxOptions['dialect']>;

/** What deployments differ in (field-notes): the switches of the sandbox, each alone, and all of them together. */
const BOTH = [
  { errorStatus: 'ok' },
  { errorStatus: 'http' },
  { localised: 'tr' },
  { localised: 'de' },
  { nulls: true },
] as const;
const ALL = { errorStatus: 'http', localised: 'de', nulls: true } as const;
const KEY_API: Dialect[] = [
  {},
  ...BOTH,
  { supportedUntilPast: true },
  { rateLimit: true },
  { ...ALL, supportedUntilPast: true, rateLimit: true },
];
const SWITCHES = { oneLiveAuthKey: true, rememberedConsent: true, echoState: true } as const;
const LOGIN_API: Dialect[] = [
  {},
  ...BOTH,
  { authorizeMethod: 'get' },
  { oneLiveAuthKey: true },
  { rememberedConsent: true },
  { echoState: true },
  { tokenMinutes: 1 },
  { ...ALL, ...SWITCHES, authorizeMethod: 'get', tokenMinutes: 1 },
];

const sandbox = createSandbox({
  clock: () => Date.UTC(2026, 10, 21, 10),
  redirectUrl: 'http://localhost:3999/callback',
});
const standing = { ...sandbox.dialect };
let at: Awaited<ReturnType<typeof sandbox.listen>>;
let codes: string[];
beforeAll(async () => {
  at = await sandbox.listen();
  codes = [1, 2].map(() => sandbox.data.addPurchase({ item_id: 1042 }).purchase_code);
  sandbox.data.refundPurchase(codes[1] as string);
});
afterAll(() => sandbox.close());

/** How a call ends: what it gives, or the code of its error. A client for each, so that no breaker is open. */
const endOf = (call: Promise<unknown>) => call.catch((error) => error.code);

const options = { retries: 0, clock: sandbox.clock };
function keyApiEnds() {
  const api = (apiKey = at.apiKey) => new KeyApi({ baseUrl: at.baseUrl, apiKey, ...options });
  const [code = '', refunded = ''] = codes;
  const positive = [
    api().getAccount(),
    api().listItems(),
    api().getItem(1042),
    api().validatePurchase(` ${code}\n`),
  ];
  const negative = [
    api().getItem(7),
    api().validatePurchase(refunded),
    api().validatePurchase('11111111-2222-4333-8444-555555555555'),
  ];
  const wrong = [api('f'.repeat(64)).getAccount(), api('f'.repeat(64)).validatePurchase(code)];
  return Promise.all([positive, negative, wrong].map((calls) => Promise.all(calls.map(endOf))));
}

/** A new auth_key of the user. */
const authKey = (): string =>
  new URL(sandbox.acceptLogin('3001', { appId: at.appId })).searchParams.get('auth_key') ?? '';
const loginApi = (others: object = {}) => {
  const { authUrl, appId, appSecret } = at;
  const { authorizeMethod } = sandbox.dialect;
  return new LoginApi({ authUrl, appId, appSecret, authorizeMethod, ...options, ...others });
};

/** Sets the switches, all others as they stand, in another minute for the limit of requests. */
function turn(dialect: Dialect): void {
  sandbox.clock.advance(60_000);
  Object.assign(sandbox.dialect, standing, dialect);
}

const record = { id: 1042, tags: expect.any(Array), price: { regular: expect.any(Number) } };

it.each(KEY_API)('the key API is understood with %j', async (dialect) => {
  turn(dialect);
  const { localised, errorStatus } = sandbox.dialect;
  const [positive, negative, wrong] = await keyApiEnds();
  expect(positive).toMatchObject([
    { username: expect.any(String) },
    expect.arrayContaining([expect.objectContaining({ id: 1042 })]),
    record,
    { purchase_code: codes[0], item: record },
  ]);
  // In other words, it is a negative answer with HTTP 404 only.
  const isUnclear = localised !== false && errorStatus === 'ok';
  expect(negative).toEqual(Array(3).fill(isUnclear ? 'service_refused' : null));
  expect(wrong).toEqual(Array(2).fill(isUnclear ? 'service_refused' : 'api_key_rejected'));
});

it.each(LOGIN_API)('the login API is understood with %j', async (dialect) => {
  turn(dialect);
  const { value } = await loginApi().exchange(authKey());
  expect((await loginApi().getUser(value)).user_id).toBe('3001');
  const badApp = loginApi({ appSecret: 'wrong' }).exchange(authKey());
  expect(await endOf(badApp)).toBe('app_credentials_rejected');
  expect(await endOf(loginApi().exchange('c0ffee'))).toBe('auth_key_rejected');
  expect(await endOf(loginApi().getUser('no-token'))).toBe('access_token_expired');
});

import { KeyApi, LoginApi } from 'marketgate';
import { createSandbox, type SandboxOptions } from 'marketgate/sandbox';
import { afterAll, beforeAll, expect, it } from 'vitest';

type Dialect = NonNullable<SandboxOptions['dialect']>;

/** What deployments differ in (field-notes): the switches of the sandbox. */
const DIALECTS: readonly Dialect[] = [
  {},
  { errorStatus: 'ok', rateLimit: true },
  { localised: 'tr', nulls: true, supportedUntilPast: true, authorizeMethod: 'get' },
  { oneLiveAuthKey: true, rememberedConsent: true, echoState: true, tokenMinutes: 1 },
  { errorStatus: 'http', localised: 'de', nulls: true, authorizeMethod: 'get', echoState: true },
];

const sandbox = createSandbox({
  clock: () => Date.UTC(2026, 10, 21, 10),
  redirectUrl: 'http://localhost:3999/callback',
});
const standing = { ...sandbox.dialect };
let at: Awaited<ReturnType<typeof sandbox.listen>>;
beforeAll(async () => {
  at = await sandbox.listen();
});
afterAll(() => sandbox.close());

/** How a call ends: what it gives, or the code of its error. A client for each, so that no breaker is open. */
const endOf = (call: Promise<unknown>) => call.catch((error) => error.code);
const options = { retries: 0, clock: sandbox.clock };

it.each(DIALECTS)('the service is understood with %j', async (dialect) => {
  // In another minute for the limit of requests.
  sandbox.clock.advance(60_000);
  const { localised, errorStatus, authorizeMethod } = Object.assign(
    sandbox.dialect,
    standing,
    dialect,
  );
  const code = sandbox.data.addPurchase({ item_id: 1042 }).purchase_code;
  const keyApi = (apiKey = at.apiKey) => new KeyApi({ baseUrl: at.baseUrl, apiKey, ...options });
  const record = { id: 1042, tags: expect.any(Array), price: { regular: expect.any(Number) } };
  expect((await keyApi().getAccount()).username).toEqual(expect.any(String));
  expect(await keyApi().listItems()).toContainEqual(expect.objectContaining({ id: 1042 }));
  expect(await keyApi().getItem(1042)).toMatchObject(record);
  const bought = { purchase_code: code, item: record };
  expect(await keyApi().validatePurchase(` ${code}\n`)).toMatchObject(bought);
  // In other words, it is a negative answer with HTTP 404 only.
  const isUnclear = localised !== false && errorStatus === 'ok';
  sandbox.data.refundPurchase(code);
  for (const call of [keyApi().getItem(7), keyApi().validatePurchase(code)]) {
    expect(await endOf(call)).toBe(isUnclear ? 'service_refused' : null);
  }
  const wrong = keyApi('f'.repeat(64)).validatePurchase(code);
  expect(await endOf(wrong)).toBe(isUnclear ? 'service_refused' : 'api_key_rejected');

  const { authUrl, appId, appSecret } = at;
  const loginApi = (secret = appSecret) =>
    new LoginApi({ authUrl, appId, appSecret: secret, authorizeMethod, ...options });
  const authKey = (): string =>
    new URL(sandbox.acceptLogin('3001', { appId })).searchParams.get('auth_key') ?? '';
  const { value } = await loginApi().exchange(authKey());
  expect((await loginApi().getUser(value)).user_id).toBe('3001');
  expect(await endOf(loginApi('wrong').exchange(authKey()))).toBe('app_credentials_rejected');
  expect(await endOf(loginApi().exchange('c0ffee'))).toBe('auth_key_rejected');
  expect(await endOf(loginApi().getUser('no-token'))).toBe('access_token_expired');
});

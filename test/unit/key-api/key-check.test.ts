import { KeyApi } from 'marketgate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { rejection } from '../../support/errors.js';
import { json, page, startUpstream, type Upstream } from '../../support/upstream.js';
import { account, CODE, KEY, refusal, success } from '../../support/wire.js';

const ACCOUNT = '/api/account/details';
const MINUTE = 60_000;

interface Service {
  readonly upstream: Upstream;
  readonly keyApi: KeyApi;
  known: Set<string>;
  accountDown: boolean;
  now: number;
  key: string;
}

/** A service that calls every code invalid, and knows only some keys. */
async function service(known: string[]): Promise<Service> {
  const upstream = await startUpstream((request, res) => {
    if (request.path !== ACCOUNT) return json(res, refusal('Invalid purchase code'), 404);
    if (self.accountDown) return page(res, 503);
    const key = request.query.get('api_key') ?? '';
    return self.known.has(key)
      ? json(res, success({ data: account }))
      : json(res, refusal('Invalid request'), 401);
  });
  const self: Service = {
    upstream,
    known: new Set(known),
    accountDown: false,
    now: 1_700_000_000_000,
    key: KEY,
    keyApi: new KeyApi({
      baseUrl: upstream.url,
      apiKey: () => self.key,
      retries: 0,
      cache: false,
      clock: () => self.now,
    }),
  };
  onTestFinished(() => self.keyApi.close());
  return self;
}

describe('the check of the key before its first no is believed', () => {
  it('an unknown key does not turn every code invalid', async () => {
    const { keyApi } = await service([]);
    expect(await rejection(keyApi.validatePurchase(CODE))).toMatchObject({
      code: 'api_key_rejected',
      status: 500,
    });
    expect((await rejection(keyApi.getItem(1))).code).toBe('api_key_rejected');
    expect((await rejection(keyApi.listItems())).code).toBe('api_key_rejected');
  });

  it('a known key is checked once for many codes', async () => {
    const { keyApi, upstream } = await service([KEY]);
    const codes = Array.from({ length: 20 }, (_, i) => `wrong-code-${i}`);
    expect(await Promise.all(codes.map((code) => keyApi.validatePurchase(code)))).toEqual(
      codes.map(() => null),
    );
    expect(await keyApi.validatePurchase(CODE)).toBeNull();
    expect(upstream.count(ACCOUNT)).toBe(1);
  });

  it('is remembered for some minutes, and then made again', async () => {
    const self = await service([KEY]);
    await self.keyApi.validatePurchase(CODE);
    self.now += 4 * MINUTE;
    await self.keyApi.validatePurchase(CODE);
    expect(self.upstream.count(ACCOUNT)).toBe(1);
    self.now += 2 * MINUTE;
    self.known.clear();
    expect((await rejection(self.keyApi.validatePurchase(CODE))).code).toBe('api_key_rejected');
    expect(self.upstream.count(ACCOUNT)).toBe(2);
  });

  it('that cannot be made is an exception, and is made anew the next time', async () => {
    const self = await service([KEY]);
    self.accountDown = true;
    expect((await rejection(self.keyApi.validatePurchase(CODE))).code).toBe('service_unavailable');
    self.accountDown = false;
    expect(await self.keyApi.validatePurchase(CODE)).toBeNull();
  });

  it('of a rejected key is remembered for a shorter while, so that a repaired shop is back soon', async () => {
    const self = await service([]);
    await rejection(self.keyApi.validatePurchase(CODE));
    await rejection(self.keyApi.validatePurchase(CODE));
    expect(self.upstream.count(ACCOUNT)).toBe(1);
    self.known.add(KEY);
    self.now += 2 * MINUTE;
    expect(await self.keyApi.validatePurchase(CODE)).toBeNull();
  });

  it('is made for each key: a rotated one is checked by itself', async () => {
    const self = await service([KEY]);
    await self.keyApi.validatePurchase(CODE);
    self.key = 'b2'.repeat(32);
    expect((await rejection(self.keyApi.validatePurchase(CODE))).code).toBe('api_key_rejected');
  });

  it('is spared when account/details was just asked', async () => {
    const { keyApi, upstream } = await service([KEY]);
    await keyApi.getAccount();
    await keyApi.validatePurchase(CODE);
    expect(upstream.count(ACCOUNT)).toBe(1);
  });

  it('takes in a rejection that somebody else was told', async () => {
    const self = await service([KEY]);
    await self.keyApi.validatePurchase(CODE);
    self.known.clear();
    await rejection(self.keyApi.getAccount());
    expect((await rejection(self.keyApi.validatePurchase(CODE))).code).toBe('api_key_rejected');
  });

  it('an account with odd fields is an account: the no is believed', async () => {
    const upstream = await startUpstream((request, res) =>
      request.path === ACCOUNT
        ? json(res, success({ data: { username: { odd: true } } }))
        : json(res, refusal('Invalid purchase code'), 404),
    );
    const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY });
    onTestFinished(() => keyApi.close());
    expect(await keyApi.validatePurchase(CODE)).toBeNull();
  });

  it('is shared, and one caller who leaves does not fail the others', async () => {
    const { keyApi, upstream } = await service([KEY]);
    const leaving = new AbortController();
    const left = keyApi.validatePurchase('wrong-code-1', { signal: leaving.signal });
    const others = ['wrong-code-2', 'wrong-code-3'].map((code) => keyApi.validatePurchase(code));
    leaving.abort();
    await expect(left).rejects.toThrow(/abort/i);
    expect(await Promise.all(others)).toEqual([null, null]);
    expect(upstream.count(ACCOUNT)).toBe(1);
  });
});

describe('account/details', () => {
  it.each([
    ['the documented msg with 200', 'Invalid request', 200],
    ['the documented msg with 401', 'invalid REQUEST', 401],
    ['any msg with 401', 'Geçersiz', 401],
    ['any msg with 403', 'Forbidden', 403],
    ['any msg with 404', 'Nope', 404],
  ])('%s: the key is unknown', async (_name, msg, status) => {
    const upstream = await startUpstream((_request, res) => json(res, refusal(msg), status));
    const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY });
    onTestFinished(() => keyApi.close());
    expect((await rejection(keyApi.getAccount())).code).toBe('api_key_rejected');
  });

  it.each([
    ['a page with 401', 401, 'unexpected_response'],
    ['a page with 403', 403, 'unexpected_response'],
  ])('%s says nothing about the key', async (_name, status, code) => {
    const upstream = await startUpstream((_request, res) => page(res, status));
    const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY });
    onTestFinished(() => keyApi.close());
    expect((await rejection(keyApi.getAccount())).code).toBe(code);
  });
});

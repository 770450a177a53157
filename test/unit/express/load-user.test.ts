import { loadUser, MarketgateError, requireAccessToken, type TokenStore } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { userInfo } from '../../support/wire.js';

const token = (value: string) => ({ value, issuedAt: 0, expiresAt: Number.MAX_SAFE_INTEGER });

function storeWith(overrides: Partial<TokenStore> = {}): TokenStore {
  return {
    get: vi.fn(async () => token('t')),
    set: vi.fn(async () => {}),
    delete: vi.fn(async () => {}),
    ...overrides,
  };
}

/** What a middleware hands to `next` for a visitor, and what it found. */
async function ending(
  guard: (req: never, res: never, next: never) => unknown,
  user: unknown = { id: '77' },
): Promise<{ error: unknown; found: unknown }> {
  const req: { marketplace?: { user?: unknown } } & Record<string, unknown> = {
    user,
    method: 'POST',
    originalUrl: '/',
    headers: {},
  };
  const error = await new Promise((resolve) =>
    guard(req as never, fakeResponse() as never, resolve as never),
  );
  return { error, found: req.marketplace?.user };
}

describe('loadUser', () => {
  const refusing = (error: unknown) => ({ getUser: vi.fn(async () => Promise.reject(error)) });
  const expired = new MarketgateError('access_token_expired', 'x');
  const down = new MarketgateError('service_unavailable', 'x');

  it('asks with the token of the user', async () => {
    const loginApi = { getUser: vi.fn(async () => userInfo) };
    const tokenStore = storeWith();
    const { error, found } = await ending(loadUser(loginApi, { tokenStore }));
    expect(error).toBeUndefined();
    expect(found).toEqual(userInfo);
    expect(tokenStore.get).toHaveBeenCalledWith('77');
    expect(loginApi.getUser).toHaveBeenCalledWith(token('t'), {
      signal: expect.any(AbortSignal),
    });
    expect(tokenStore.delete).not.toHaveBeenCalled();
  });

  it.each<[string, unknown, number]>([
    ['a token that is refused', expired, 1],
    ['a user who is gone', new MarketgateError('login_failed', 'x'), 1],
    ['a service that is down', down, 0],
    ['a 401 of something else', Object.assign(new Error('mine'), { status: 401 }), 0],
    ['an error that is none', 'broken', 0],
  ])('for %s deletes so many tokens', async (_name, refusal, deleted) => {
    const tokenStore = storeWith();
    const { error } = await ending(loadUser(refusing(refusal), { tokenStore }));
    if (typeof refusal === 'object') expect(error).toBe(refusal);
    expect(tokenStore.delete).toHaveBeenCalledTimes(deleted);
  });

  it.each<[string, Partial<TokenStore>]>([
    ['cannot delete', { delete: async () => Promise.reject(new Error('down')) }],
    [
      'cannot be read again',
      {
        get: vi
          .fn<TokenStore['get']>()
          .mockResolvedValueOnce(token('t'))
          .mockRejectedValue(new Error('down')),
      },
    ],
    [
      'has lost the token meanwhile',
      { get: vi.fn<TokenStore['get']>().mockResolvedValueOnce(token('t')) },
    ],
  ])('tells the visitor to log in also when the store %s', async (_name, overrides) => {
    const tokenStore = storeWith(overrides);
    const { error } = await ending(loadUser(refusing(expired), { tokenStore }));
    expect(error).toBe(expired);
  });

  it('takes the id from where the app says', async () => {
    const tokenStore = storeWith();
    const loginApi = { getUser: async () => ({ ...userInfo, user_id: 'own' }) };
    const { found } = await ending(loadUser(loginApi, { tokenStore, userId: () => 'own' }));
    expect(tokenStore.get).toHaveBeenCalledWith('own');
    expect(found).toMatchObject({ user_id: 'own' });
  });

  it.each<[string, object, unknown]>([
    ['the token of another user', { user_id: '78' }, { id: '77' }],
    ['the id that the app has for the user', { user_id: '77' }, { id: 'row-1' }],
    ['an id that only looks alike', { user_id: '077' }, { id: '77' }],
  ])('shows nobody another user: %s', async (_name, answer, user) => {
    const tokenStore = storeWith();
    const loginApi = { getUser: async () => ({ ...userInfo, ...answer }) };
    const { error, found } = await ending(loadUser(loginApi, { tokenStore }), user);
    expect(error).toMatchObject({ code: 'access_token_expired', status: 401 });
    expect(found).toBeUndefined();
    expect(tokenStore.delete).toHaveBeenCalledTimes(1);
  });

  it('takes a number for an id, as databases have it', async () => {
    const loginApi = { getUser: async () => userInfo };
    const { error } = await ending(loadUser(loginApi, { tokenStore: storeWith() }), { id: 77 });
    expect(error).toBeUndefined();
  });
});

describe('requireAccessToken', () => {
  it('goes by the present of the machine when it is given no clock', async () => {
    const ended = { value: 't', issuedAt: 0, expiresAt: 1000 };
    const tokenStore = storeWith({ get: async () => ended });
    const { error } = await ending(requireAccessToken({ tokenStore }));
    expect(error).toMatchObject({ code: 'access_token_expired' });
    expect(tokenStore.delete).toHaveBeenCalledTimes(1);
  });

  it('leaves the token of a login that came between', async () => {
    const get = vi.fn(async () => token('newer'));
    get.mockResolvedValueOnce({ ...token('older'), expiresAt: 1000 });
    const tokenStore = storeWith({ get });
    const { error } = await ending(requireAccessToken({ tokenStore }));
    expect(error).toMatchObject({ code: 'access_token_expired' });
    expect(tokenStore.delete).not.toHaveBeenCalled();
  });

  it('deletes nothing where there is nothing', async () => {
    const tokenStore = storeWith({ get: async () => undefined });
    await ending(requireAccessToken({ tokenStore }));
    expect(tokenStore.delete).not.toHaveBeenCalled();
  });

  it('a token that ends at this moment has ended', async () => {
    const tokenStore = storeWith({ get: async () => ({ ...token('t'), expiresAt: 1000 }) });
    const at = (now: number) => ending(requireAccessToken({ tokenStore, clock: () => now }));
    expect((await at(999)).error).toBeUndefined();
    expect((await at(1000)).error).toMatchObject({ code: 'access_token_expired' });
  });
});

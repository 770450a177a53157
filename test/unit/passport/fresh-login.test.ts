import { isFreshLogin, MarketplaceStrategy, type MarketplaceStrategyOptions } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { cookieBrowser, drive, fakeLoginApi, requestOf } from '../../support/strategy-harness.js';

// A callback that logs in, and one that is only passed on to the app.

const user = { id: '77' };

function open(options: Partial<MarketplaceStrategyOptions> = {}) {
  const { loginApi } = fakeLoginApi();
  const strategy = new MarketplaceStrategy({ loginApi, ...options }, ({ profile }) =>
    profile.id === '77' ? user : false,
  );
  const session = {};
  const visit = async (query: object = {}, more: object = {}, authOptions: object = {}) => {
    const req = requestOf(query, { session, ...more });
    const [outcome] = await drive(strategy, req, authOptions);
    return { outcome, isFresh: isFreshLogin(req), req };
  };
  return { strategy, session, visit };
}

describe('isFreshLogin', () => {
  it('is true for the callback that logs in, and false for the start', async () => {
    const { visit } = open();
    expect((await visit()).isFresh).toBe(false);
    const { outcome, isFresh, req } = await visit({ auth_key: 'k1' });
    expect([outcome?.[0], isFresh]).toEqual(['success', true]);
    expect(Object.keys(req)).not.toContain('freshLogin');
  });

  it.each([
    ['the callback again', { auth_key: 'k1' }],
    ['a made-up callback', { auth_key: 'made-up' }],
  ])('is false for %s of a logged-in user', async (_name, query) => {
    const { visit } = open();
    await visit();
    await visit({ auth_key: 'k1' });
    const { outcome, isFresh } = await visit(query, { user });
    expect([outcome, isFresh]).toEqual([['pass'], false]);
  });

  it('is false for a login that fails', async () => {
    const { visit } = open();
    expect((await visit({ auth_key: 'k1' })).isFresh).toBe(false);
  });

  it('is false for the page that asks, and true for "Continue"', async () => {
    const { loginApi } = fakeLoginApi();
    const strategy = new MarketplaceStrategy({ loginApi, confirm: true }, () => user);
    const browser = cookieBrowser();
    const session = {};
    const visit = async (query = {}, more = {}) => {
      const { req } = browser.request(query, { session, ...more });
      const [outcome] = await drive(strategy, req);
      return { outcome, isFresh: isFreshLogin(req) };
    };
    await visit();
    const { outcome, isFresh } = await visit({ auth_key: 'k1' });
    expect(isFresh).toBe(false);
    const confirm = /confirm=(.*)/.exec(String(outcome?.[1]))?.[1];
    expect((await visit({ confirm })).isFresh).toBe(false);
    expect((await visit({ confirm, answer: 'continue' })).isFresh).toBe(true);
    const again = await visit({ confirm }, { user });
    expect([again.outcome, again.isFresh]).toEqual([['pass'], false]);
  });

  it.each([{}, { headers: {} }])('is false for %j', (req) => {
    expect(isFreshLogin(req)).toBe(false);
  });
});

describe('a callback that is passed on', () => {
  it.each([
    ['successRedirect', { successRedirect: '/home' }],
    ['successReturnToOrRedirect', { successReturnToOrRedirect: '/home' }],
  ])('goes to %s', async (_name, authOptions) => {
    const { visit } = open();
    const { outcome, isFresh } = await visit({ auth_key: 'k1' }, { user }, authOptions);
    expect([outcome, isFresh]).toEqual([['redirect', '/home'], false]);
  });

  it('of nobody is not passed on', async () => {
    const { visit } = open();
    const { outcome } = await visit({ auth_key: 'k1' }, {}, { successRedirect: '/home' });
    expect(outcome?.[2]).toBe(403);
  });
});

describe('neither the start nor the callback is for caches', () => {
  it.each<[string, object]>([
    ['the start', {}],
    ['a callback without an attempt', { auth_key: 'k1' }],
    ['a broken callback', { auth_key: '' }],
  ])('%s', async (_name, query) => {
    const { strategy } = open();
    const { req, res } = cookieBrowser().request(query, { session: {} });
    await drive(strategy, req);
    expect(res.headers['cache-control']).toBe('no-store');
  });
});

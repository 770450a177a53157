import { MarketplaceStrategy, type MarketplaceStrategyOptions, returnTo } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import {
  ATTEMPTS_KEY,
  cookieBrowser,
  drive,
  fakeLoginApi,
  longSecret,
  requestOf,
} from '../../support/strategy-harness.js';

const KEY = ATTEMPTS_KEY;
const SECRET = longSecret();

function open(
  options: Partial<MarketplaceStrategyOptions> = {},
  overrides: Parameters<typeof fakeLoginApi>[0] = {},
) {
  const { loginApi, exchanged } = fakeLoginApi(overrides);
  const strategy = new MarketplaceStrategy({ loginApi, ...options }, async ({ profile }) => ({
    id: profile.id,
  }));
  return { strategy, exchanged };
}

describe('attempts in a session', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['text', 'x'],
    ['a number for an id', { id: 7, startedAt: 0 }],
    ['no id', { startedAt: 0 }],
    ['text for the start', { id: 'a', startedAt: '0' }],
    ['no start', { id: 'a' }],
    ['a start that is still to come, as after a clock was set back', { id: 'a', startedAt: 1 }],
  ])('%s is none: 403, and nothing is spent', async (_name, held) => {
    const { strategy, exchanged } = open();
    const session = { [KEY]: [held] };
    const recorded = await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    expect(recorded).toEqual([['fail', expect.objectContaining({ code: 'login_failed' }), 403]]);
    expect(exchanged).toEqual([]);
  });

  it('one that is in order among rubbish is used', async () => {
    const { strategy } = open();
    const session = { [KEY]: [null, { id: 'a', startedAt: 0 }, 7] };
    const [outcome] = await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    expect(outcome?.[0]).toBe('success');
  });

  it('say no more than they must', async () => {
    const { strategy } = open();
    const session: Record<string, unknown> = {};
    await drive(strategy, requestOf({}, { session }));
    expect(session[KEY]).toStrictEqual([
      { id: expect.stringMatching(/^[\w-]{22}$/), startedAt: 0 },
    ]);
  });

  it('that are over make room with the next start', async () => {
    let now = 0;
    const { strategy } = open({}, { clock: () => now });
    const session: Record<string, unknown> = {};
    await drive(strategy, requestOf({}, { session }));
    now = 600_000;
    await drive(strategy, requestOf({}, { session }));
    expect(session[KEY]).toMatchObject([{ startedAt: 600_000 }]);
  });

  it('leave nothing behind when the login is over, and are written once for it', async () => {
    const { strategy } = open();
    const session = { save: vi.fn((done: () => void) => done()) };
    await drive(strategy, requestOf({}, { session }));
    expect(session.save).toHaveBeenCalledTimes(1);
    await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    expect(session.save).toHaveBeenCalledTimes(2);
    expect(Object.keys(session)).toEqual(['save']);
  });

  it.each<[string, object[]]>([
    ['none at all', []],
    ['only one that waits for a yes', [{ id: 'a', startedAt: 0, waits: true }]],
  ])('a callback that finds %s writes nothing', async (_name, held) => {
    const { strategy } = open();
    const session = { save: vi.fn((done: () => void) => done()), [KEY]: held };
    await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    expect(session.save).not.toHaveBeenCalled();
  });

  it.each([null, 'text', 7])('%j in its place is no session', async (session) => {
    const { strategy } = open();
    const [outcome] = await drive(strategy, requestOf({}, { session }));
    expect(outcome?.[0]).toBe('error');
    expect(String(outcome?.[1])).toContain('express-session');
  });
});

describe('attempts in a cookie', () => {
  const inCookie = { loginAttempts: { cookieSecret: SECRET } };

  it('a callback that finds none sets no cookie', async () => {
    const { strategy } = open(inCookie);
    const { req, res } = cookieBrowser().request({ auth_key: 'k' });
    await drive(strategy, req);
    expect(res.attributes).toEqual({});
  });

  it('a request without a response is an error that says so', async () => {
    const { strategy } = open(inCookie);
    const [outcome] = await drive(strategy, requestOf());
    expect(outcome?.[0]).toBe('error');
    expect(String(outcome?.[1])).toContain('no response');
  });

  it('with paths too long for two tabs, the newest keeps its own', async () => {
    const { strategy } = open(inCookie);
    const browser = cookieBrowser();
    for (const tab of ['a', 'b']) {
      await drive(strategy, browser.request().req, { returnTo: `/${tab.repeat(2000)}` });
    }
    const { req } = browser.request({ auth_key: 'k' });
    await drive(strategy, req);
    expect(returnTo(req)).toBe(`/${'b'.repeat(2000)}`);
  });

  it('what one step wrote the next step of the same request reads', async () => {
    const { strategy, exchanged } = open({ ...inCookie, confirm: true });
    const browser = cookieBrowser();
    await drive(strategy, browser.request().req);
    await drive(strategy, browser.request().req);
    // Takes one attempt, and puts down the one that waits for a yes: the other tab's must be left.
    await drive(strategy, browser.request({ auth_key: 'k1' }).req);
    const [other] = await drive(strategy, browser.request({ auth_key: 'k2' }).req);
    expect(other?.[0]).toBe('redirect');
    expect(exchanged).toEqual(['k1', 'k2']);
  });
});

it('a request without headers, as test helpers for passport make it, starts a login', async () => {
  const { strategy } = open();
  const [outcome] = await drive(strategy, { query: {}, session: {} });
  expect(outcome?.[0]).toBe('redirect');
});

it('a request without headers and session is an error that names express-session', async () => {
  const { strategy } = open();
  const [outcome] = await drive(strategy, { query: {} });
  expect(String(outcome?.[1])).toContain('express-session');
});

import {
  MarketgateError,
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  MemoryTokenStore,
  returnTo,
} from 'marketgate';
import { describe, expect, it } from 'vitest';
import { ATTEMPTS_KEY, drive, fakeLoginApi, requestOf } from '../../support/strategy-harness.js';

const user = { id: '77' };

function open(
  overrides: Parameters<typeof fakeLoginApi>[0] = {},
  options: Partial<MarketplaceStrategyOptions> = {},
) {
  const { loginApi, exchanged } = fakeLoginApi(overrides);
  const strategy = new MarketplaceStrategy({ loginApi, ...options }, async ({ profile }) => ({
    id: profile.id,
  }));
  const session: Record<string, unknown> = {};
  const start = (to?: string) => drive(strategy, requestOf({}, { session }), { returnTo: to });
  /** Comes back with an auth_key; gives the outcome, and where the visitor is sent. */
  async function comeBack(auth_key: string, more: object = {}) {
    const req = requestOf({ auth_key }, { session, ...more });
    const recorded = await drive(strategy, req);
    return { recorded, outcome: recorded[0], to: returnTo(req) };
  }
  return { strategy, exchanged, session, start, comeBack };
}

describe('a callback that is loaded again', () => {
  it('by who is logged in leads where it led, and takes no other tab’s attempt', async () => {
    const { start, comeBack, exchanged } = open();
    await start('/first');
    await comeBack('k1');
    await start('/second');
    const again = await comeBack('k1', { user });
    expect(again.recorded).toEqual([['pass']]);
    expect(again.to).toBe('/first');
    const other = await comeBack('k2', { user });
    expect(other.outcome?.[0]).toBe('success');
    expect(other.to).toBe('/second');
    expect(exchanged).toEqual(['k1', 'k2']);
  });

  it('by who has started another login is "already used", and leaves that login alone', async () => {
    const { start, comeBack } = open();
    await start();
    await comeBack('k1');
    await start();
    const again = await comeBack('k1');
    expect(again.outcome).toEqual([
      'fail',
      expect.objectContaining({
        code: 'auth_key_rejected',
        message: expect.stringContaining('already used'),
      }),
      401,
    ]);
    expect((await comeBack('k2')).outcome?.[0]).toBe('success');
  });

  it('by who has started none does not say that the key was used', async () => {
    const { start, comeBack } = open();
    await start();
    await comeBack('k1');
    const again = await comeBack('k1');
    expect(again.outcome).toEqual([
      'fail',
      expect.objectContaining({
        code: 'login_failed',
        message: expect.stringContaining('not started in this browser'),
      }),
      403,
    ]);
  });

  it.each([
    ['is over', { id: 'a', startedAt: -600_000 }],
    ['waits for a yes', { id: 'a', startedAt: 0, waits: true }],
  ])('by who has an attempt that %s does not say either', async (_name, attempt) => {
    const { start, comeBack, session } = open();
    await start();
    await comeBack('k1');
    session[ATTEMPTS_KEY] = [attempt];
    expect((await comeBack('k1')).outcome?.[2]).toBe(403);
  });
});

describe('an auth_key that died because another tab got a newer one', () => {
  const refusing = (code: 'auth_key_rejected' | 'login_failed') => ({
    exchange: async () => {
      throw new MarketgateError(code, 'because');
    },
  });

  it('goes on where it wanted to, in a browser that is logged in by then', async () => {
    const { start, comeBack } = open(refusing('auth_key_rejected'));
    await start('/wanted');
    const { recorded, to } = await comeBack('k1', { user });
    expect(recorded).toEqual([['pass']]);
    expect(to).toBe('/wanted');
  });

  it('another refusal is a failure, also for who is logged in', async () => {
    const { start, comeBack } = open(refusing('login_failed'));
    await start();
    expect((await comeBack('k1', { user })).outcome?.slice(0, 2)).toEqual([
      'fail',
      expect.objectContaining({ code: 'login_failed' }),
    ]);
  });
});

describe('a redirect URL with a query of its own', () => {
  it('one name given twice in it was overlooked: the visitor went round in circles', async () => {
    const { strategy } = open();
    const [outcome] = await drive(strategy, requestOf({ x: ['1', '2?auth_key=k1'] }));
    expect(outcome?.[0]).toBe('fail');
    expect(outcome?.[1]).toMatchObject({ message: expect.stringContaining('redirect URL') });
  });

  it.each<[string, object | undefined]>([
    ['nothing', undefined],
    ['a number', { x: 7 }],
    ['an object', { x: { toString: () => '?auth_key=k1' } }],
  ])('%s in the query is none: the login starts', async (_name, query) => {
    const { strategy } = open();
    const [outcome] = await drive(strategy, { query, headers: {}, session: {} });
    expect(outcome?.[0]).toBe('redirect');
  });
});

it('what the fleet is told of a spent auth_key is a hash', async () => {
  const claimed: string[] = [];
  const tokenStore = Object.assign(new MemoryTokenStore(), {
    claim: async (name: string) => claimed.push(name) > 0,
  });
  const { start, comeBack } = open({}, { tokenStore });
  await start();
  await comeBack('spent-key-1');
  expect(claimed).toHaveLength(2);
  for (const name of claimed) expect(name).toMatch(/^auth_key:[\w-]{43}$/);
});

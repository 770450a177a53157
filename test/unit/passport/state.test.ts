import { MarketplaceStrategy, returnTo } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { drive, fakeLoginApi, requestOf } from '../../support/strategy-harness.js';

describe('state: true, where a deployment echoes it', () => {
  function open() {
    const { loginApi, exchanged } = fakeLoginApi();
    const strategy = new MarketplaceStrategy({ loginApi, state: true }, async ({ profile }) => ({
      id: profile.id,
    }));
    const session = {};
    /** Starts a login; gives the state that was sent along. */
    async function start(to?: string): Promise<string> {
      const [outcome] = await drive(strategy, requestOf({}, { session }), { returnTo: to });
      return new URL(String(outcome?.[1])).searchParams.get('state') ?? '';
    }
    return { strategy, exchanged, session, start };
  }

  it('sends a random one, another each time', async () => {
    const { start } = open();
    const [first, second] = [await start(), await start()];
    expect(first).toMatch(/^[\w-]{20,}$/);
    expect(second).not.toBe(first);
  });

  it.each(['/first', '/second'])('tells tabs apart: %s is where its own tab goes', async (path) => {
    const { strategy, session, start } = open();
    const states = { '/first': await start('/first'), '/second': await start('/second') };
    const state = states[path as keyof typeof states];
    const req = requestOf({ auth_key: 'k1', state }, { session });
    expect((await drive(strategy, req))[0]?.[0]).toBe('success');
    expect(returnTo(req)).toBe(path);
  });

  it.each<[string, unknown]>([
    ['missing', undefined],
    ['another', 'x'.repeat(22)],
    ['empty', ''],
    ['given twice', ['a', 'b']],
  ])('%s: 403, and nothing is spent', async (_name, state) => {
    const { strategy, session, start, exchanged } = open();
    await start();
    const [outcome] = await drive(strategy, requestOf({ auth_key: 'k1', state }, { session }));
    expect(outcome?.[2]).toBe(403);
    expect(exchanged).toEqual([]);
  });

  it('of a used attempt is not accepted again', async () => {
    const { strategy, session, start } = open();
    const state = await start();
    await drive(strategy, requestOf({ auth_key: 'k1', state }, { session }));
    const [again] = await drive(strategy, requestOf({ auth_key: 'k2', state }, { session }));
    expect(again?.[2]).toBe(403);
  });
});

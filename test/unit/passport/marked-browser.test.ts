import { MarketgateError } from 'marketgate';
import { expect, it, vi } from 'vitest';
import {
  confirmationOf,
  isAsked,
  openLogin,
  success,
  user,
} from '../../support/strategy-harness.js';

// A window in the background loads callbacks of a stranger's logins, over and over, and waits for the visitor to begin a
// login.

it('a stranger’s callback in a loop takes over no login of the visitor', async () => {
  const { start, comeBack, visit, exchanged } = openLogin();
  for (const i of [0, 1]) {
    const loop = async () => {
      for (const _ of [1, 2, 3]) expect((await comeBack(`strangers${i}`)).outcome?.[2]).toBe(403);
    };
    await loop();
    await start();
    await loop();
    const id = confirmationOf((await comeBack(`own${i}`)).outcome);
    await loop();
    expect((await visit({ marketgate: id, answer: 'continue' })).outcome).toEqual(success);
  }
  expect(exchanged).toEqual(['own0', 'own1']);
});

it.each([
  ['auto', [0], 599_999, true],
  ['auto', [0], 600_000, false],
  ['auto', [0, 30_000], 629_999, true],
  [false, [0], 599_999, true],
] as const)(
  'with confirm %j, after callbacks without an attempt at %j ms, a login at %d ms asks: %s',
  async (confirm, callbacks, at, asks) => {
    let now = 0;
    const { start, comeBack } = openLogin({ confirm, clock: () => now });
    for (now of callbacks) await comeBack('strangers');
    now = at;
    await start();
    expect(isAsked((await comeBack('own')).outcome)).toBe(asks);
  },
);

it('a renewal is not asked about in a marked browser, because it changes nothing', async () => {
  const { start, comeBack } = openLogin();
  await start();
  await comeBack('own');
  expect((await comeBack('strangers', { user })).outcome).toEqual(['pass']);
  await start({}, { user });
  expect((await comeBack('next', { user })).outcome).toEqual(success);
});

it('another site’s login that has failed asks about no later one', async () => {
  const exchange = vi.fn(async () => ({ value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 }));
  exchange.mockRejectedValueOnce(new MarketgateError('auth_key_rejected', 'no'));
  const { start, comeBack } = openLogin({ api: { exchange } });
  await start({}, { headers: { 'sec-fetch-site': 'cross-site' } });
  expect((await comeBack('k1')).outcome?.[2]).toBe(401);
  await start();
  expect((await comeBack('k2')).outcome).toEqual(success);
});

it('a callback that another browser has opened first still completes its own login', async () => {
  const { start, comeBack, loginApi } = openLogin();
  await start();
  expect((await openLogin({ loginApi }).comeBack('own')).outcome?.[2]).toBe(403);
  expect((await comeBack('own')).outcome).toEqual(success);
});

it('a browser that looks again and finds its session, in a process of two, is told that they need one store', async () => {
  const { start, comeBack, visit } = openLogin();
  await start();
  const gone = { headers: { cookie: 'connect.sid=s%3Aold.signature' }, sessionID: 'new' };
  expect((await comeBack('k1', { ...gone, session: {} })).outcome?.[0]).toBe('page');
  const { outcome } = await visit({ marketgate: 'again' }, { ...gone, sessionID: 'old' });
  const message = expect.stringContaining('give all processes one session store');
  expect(outcome).toMatchObject(['fail', { message }, 403]);
});

it('a browser that looks again for its session in vain is told why, and is marked', async () => {
  const { start, comeBack, visit } = openLogin();
  const gone = { headers: { cookie: 'connect.sid=s%3Aold.signature' }, sessionID: 'new' };
  expect((await comeBack('strangers', gone)).outcome?.[0]).toBe('page');
  const { outcome } = await visit({ marketgate: 'again' }, gone);
  const message = expect.stringMatching(
    /not in the session store: .*another process.*restarted.*another secret/,
  );
  expect(outcome).toMatchObject(['fail', { message }, 403]);
  await start();
  expect((await comeBack('own')).outcome).toSatisfy(isAsked);
});

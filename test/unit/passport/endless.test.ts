import { expect, it } from 'vitest';
import { openLogin, user } from '../../support/strategy-harness.js';

// Where the service remembers the visitor's consent, a login that leads nowhere is an endless redirect.

interface Round {
  to?: string;
  pause?: number;
  req?: object;
}

const byClickOn = (site: string) => ({
  headers: { 'sec-fetch-site': site, 'sec-fetch-user': '?1' },
});

/** Goes round until a start is no redirect to the service, ten times at most. Gives how often it was, and how it ended. */
async function goRound(roundOf: (n: number) => Round, where?: 'cookie') {
  let now = 1e12;
  const { start, comeBack } = openLogin({ where, confirm: false, clock: () => now });
  for (let n = 0; n < 10; n++) {
    const { to, pause = 0, req = {} } = roundOf(n);
    now += pause;
    const { outcome } = await start({ returnTo: to }, req);
    if (outcome?.[0] !== 'redirect') return { n, outcome };
    await comeBack(`k${n}`, req);
  }
  return { n: 10 };
}

it.each<[string, (n: number) => Round, 'cookie'?]>([
  ['for a page', () => ({ to: '/account' })],
  ['with attempts in a cookie', () => ({ to: '/account' }), 'cookie'],
  ['for none', () => ({})],
  ['for a logged-in user', (n) => ({ req: n > 0 ? { user } : {} })],
  ['by a click on another site', () => ({ req: byClickOn('cross-site') })],
])('the third start right after a completed login is stopped: %s', async (...row) => {
  const message = expect.stringMatching(/passport\.session\(\).*userId.*tokenStore.*guard of the/);
  const error = { code: 'login_failed', status: 500, expose: false, message };
  expect(await goRound(row[1], row[2])).toMatchObject({ n: 3, outcome: ['error', error] });
});

it.each<[string, (n: number) => Round]>([
  ['by a click on this site', () => ({ req: byClickOn('same-origin') })],
  ['for another page', (n) => ({ to: `/page/${n}` })],
  ['with ten seconds in between', (n) => ({ pause: n % 3 === 0 ? 10_000 : 0 })],
])('a start that follows a completed login %s is not stopped', async (_what, roundOf) => {
  expect(await goRound(roundOf)).toEqual({ n: 10 });
});

it('a visitor whose logins fail can try again as often as they like', async () => {
  const { start, comeBack } = openLogin({ verify: (_input: unknown) => false });
  for (let n = 0; n < 10; n++) {
    expect((await start()).outcome?.[0]).toBe('redirect');
    await comeBack(`k${n}`, {}, { failureRedirect: '/account' });
  }
});

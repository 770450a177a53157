import { describe, expect, it } from 'vitest';
import { openLogin, user } from '../../support/strategy-harness.js';

// Where the service remembers the visitor's consent, a login that leads nowhere is an endless redirect.

const stopped = [
  'error',
  expect.objectContaining({
    ...{ code: 'login_failed', status: 500, expose: false },
    message: expect.stringMatching(/passport\.session\(\).*userId.*tokenStore.*guard of the app/),
  }),
];

describe.each(['session', 'cookie'] as const)('with attempts in a %s', (where) => {
  /** Goes round until a start is no redirect to the service, ten times at most. Gives how often it was, and how it ended. */
  async function goRound(more: (round: number) => { to?: string; pause?: number; req?: object }) {
    let now = 1e12;
    const { start, comeBack } = openLogin({ where, confirm: false, clock: () => now });
    for (let n = 0; n < 10; n++) {
      const { to, pause = 0, req = {} } = more(n);
      now += pause;
      const { outcome } = await start({ returnTo: to }, req);
      if (outcome?.[0] !== 'redirect') return { n, outcome };
      await comeBack(`k${n}`, req);
    }
    return { n: 10 };
  }
  const click = { 'sec-fetch-site': 'same-origin', 'sec-fetch-user': '?1' };

  it.each([
    ['for a page', () => ({ to: '/account' })],
    ['for none', () => ({})],
    ['for a logged-in user', (round: number) => ({ req: round > 0 ? { user } : {} })],
    [
      'by a redirect of the service',
      () => ({ req: { headers: { 'sec-fetch-site': 'cross-site' } } }),
    ],
  ])(
    'the third start in a row that follows a completed login at once is stopped: %s',
    async (...row) => {
      expect(await goRound(row[1])).toEqual({ n: 3, outcome: stopped });
    },
  );

  it.each([
    ['after ten seconds', () => ({ pause: 10_000 })],
    ['by a click on this site', () => ({ req: { headers: click } })],
    ['for another page', (round: number) => ({ to: `/page/${round}` })],
    ['with a pause in between', (round: number) => ({ pause: round % 3 === 0 ? 10_000 : 0 })],
  ])('other starts are not: %s', async (_what, more) => {
    expect(await goRound(more)).toEqual({ n: 10 });
  });
});

it('a visitor whose logins fail can try again as often as they like', async () => {
  const { start, comeBack } = openLogin({ verify: (_input: unknown) => false });
  for (let n = 0; n < 10; n++) {
    expect((await start()).outcome?.[0]).toBe('redirect');
    await comeBack(`k${n}`, {}, { failureRedirect: '/account' });
  }
});

import { describe, expect, it } from 'vitest';
import { type OpenLogin, openLogin, user } from '../../support/strategy-harness.js';

// Where the service remembers the visitor's consent, a login that leads nowhere is an endless redirect. Five rounds within
// seconds are enough; the sixth start says why.

const stopped = (why: RegExp) => [
  'error',
  expect.objectContaining({ code: 'login_failed', message: expect.stringMatching(why) }),
];

describe.each(['session', 'cookie'] as const)('with attempts in a %s', (where) => {
  /** Goes round until a start is no redirect to the service, ten times at most. Gives how often it was, and how it ended. */
  async function goRound(
    round: () => Promise<unknown>,
    start: () => Promise<{ outcome?: unknown[] | undefined }>,
  ) {
    for (let n = 0; n < 10; n++) {
      const { outcome } = await start();
      if (outcome?.[0] !== 'redirect') return { n, outcome };
      await round();
    }
    return { n: 10 };
  }

  it('the sixth start right after logins that completed stops, and the next one after ten seconds does not', async () => {
    let now = 1e12;
    const { start, comeBack } = openLogin({ where, confirm: false, clock: () => now });
    let key = 0;
    const round = () => comeBack(`k${key++}`);
    expect(await goRound(round, start)).toEqual({ n: 5, outcome: stopped(/passport.session\(\)/) });
    now += 10_000;
    expect((await start()).outcome?.[0]).toBe('redirect');
  });

  it('a user who logs in again and again is not stopped', async () => {
    const { start, comeBack } = openLogin({ where, confirm: false });
    let key = 0;
    const round = () => comeBack(`k${key++}`, { user });
    expect(await goRound(round, () => start({}, { user }))).toEqual({ n: 10 });
  });

  it('the sixth start stops where logins fail and failureRedirect leads to a guarded page', async () => {
    const options: OpenLogin = { where, verify: (_input: unknown) => false };
    const { start, comeBack, session, browser } = openLogin(options);
    let key = 0;
    const round = async () => {
      await comeBack(`k${key++}`, {}, { failureRedirect: '/account' });
      // requireLogin saves the page.
      if (where === 'session') session['marketgate:returnTo'] = '/account';
      else browser.cookies['marketgate.return_to'] = '%2Faccount';
    };
    expect(await goRound(round, start)).toEqual({ n: 5, outcome: stopped(/failureRedirect/) });
  });

  it('a visitor whose logins fail can try again as often as they like, also where a guard has stopped them first', async () => {
    const session: Record<string, unknown> = {};
    const options: OpenLogin = { where, session, verify: (_input: unknown) => false };
    const { start, comeBack, browser } = openLogin(options);
    if (where === 'session') session['marketgate:returnTo'] = '/account';
    else browser.cookies['marketgate.return_to'] = '%2Faccount';
    let key = 0;
    const round = () => comeBack(`k${key++}`, {}, { failureRedirect: '/' });
    expect(await goRound(round, start)).toEqual({ n: 10 });
  });

  it('the sixth start stops where the service sends the browser back without an auth_key', async () => {
    let now = 1e12;
    const { start } = openLogin({ where, clock: () => now });
    const fromService = { headers: { 'sec-fetch-site': 'cross-site' } };
    await start();
    const again = () => start({}, fromService);
    expect(await goRound(async () => {}, again)).toEqual({ n: 4, outcome: stopped(/query/) });
    // Somebody who begins a login here is not stopped.
    expect((await start()).outcome?.[0]).toBe('redirect');
    now += 10_000;
    const slowly = async () => {
      now += 10_000;
    };
    expect(await goRound(slowly, again)).toEqual({ n: 10 });
  });
});

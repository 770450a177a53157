import { describe, expect, it, vi } from 'vitest';
import {
  confirmationOf,
  isAsked,
  type OpenLogin,
  openLogin,
  success,
  user,
} from '../../support/strategy-harness.js';

// A window in the background loads callbacks of a stranger's logins, over and over, and waits for the visitor to begin a
// login.

describe.each(['session', 'cookie'] as const)('with attempts in a %s', (where) => {
  const open = (options: OpenLogin = {}) => openLogin({ where, ...options });

  it('a stranger’s callback in a loop takes over no login of the visitor', async () => {
    const { start, comeBack, visit, exchanged } = open();
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
    ['auto', [0, 590_000], 610_000, true],
    [false, [0], 599_999, true],
  ] as const)(
    'with confirm %j, after callbacks without an attempt at %j ms, a login at %d ms asks: %s',
    async (confirm, callbacks, at, asks) => {
      let now = 0;
      const { start, comeBack } = open({ confirm, clock: () => now });
      for (now of callbacks) await comeBack('strangers');
      now = at;
      await start();
      expect(isAsked((await comeBack('own')).outcome)).toBe(asks);
    },
  );

  it.each([
    ['marks', 'strangers', true],
    ['with its used auth_key does not mark', 'own', false],
  ])('a callback in a logged-in browser %s it', async (_name, key, asks) => {
    const { start, comeBack } = open();
    await start();
    await comeBack('own');
    expect((await comeBack(key, { user })).outcome).toEqual(['pass']);
    await start({}, { user });
    expect(isAsked((await comeBack('next', { user })).outcome)).toBe(asks);
  });

  it('a callback that another browser has opened first still completes its own login', async () => {
    const { start, comeBack } = open();
    await start();
    expect((await open().comeBack('own')).outcome?.[2]).toBe(403);
    expect((await comeBack('own')).outcome).toEqual(success);
  });

  it('thirty auth_keys that came early are taken with no later attempt, and with more the visitor is asked', async () => {
    const { start, comeBack, session, browser, exchanged } = open({
      clock: () => 1e12,
      secure: true,
    });
    const early = Array.from({ length: 50 }, (_, i) => `strangers${i}`);
    for (const key of early) await comeBack(key);
    expect(JSON.stringify([session, browser.cookies]).length).toBeLessThan(400);
    const elsewhere = { headers: { 'sec-fetch-site': 'cross-site' } };
    for (let i = 0; i < 5; i++) await start({ returnTo: `/${'a'.repeat(99)}` }, elsewhere);
    for (const key of early.slice(0, 30)) expect((await comeBack(key)).outcome?.[2]).toBe(403);
    expect((await comeBack('strangers49')).outcome).toSatisfy(isAsked);
    expect(exchanged).toEqual(['strangers49']);
  });

  it('the loop writes once a minute, so that it cannot undo what a concurrent start has saved', async () => {
    const { comeBack, session } = open();
    const save = vi.fn((done: () => void) => done());
    session.save = save;
    const lines: string[] = [];
    for (let i = 0; i < 20; i++) lines.push(...(await comeBack('strangers')).res.lines);
    expect(save.mock.calls.length + lines.length).toBe(1);
  });
});

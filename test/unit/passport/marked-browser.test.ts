import { describe, expect, it } from 'vitest';
import { type OpenLogin, openLogin, type Recorded } from '../../support/strategy-harness.js';

// A window in the background loads callbacks of a stranger's logins, over and over, and waits for the visitor to begin a
// login.

const user = { id: '77' };
const success = ['success', user, {}];

const isAsked = (outcome: Recorded | undefined): boolean =>
  outcome?.[0] === 'redirect' && /\/callback\?confirm=/.test(String(outcome[1]));

describe.each(['session', 'cookie'] as const)('with attempts in a %s', (where) => {
  const open = (options: OpenLogin = {}) => openLogin({ where, ...options });

  it('a stranger’s callback in a loop takes over none of six logins of the visitor', async () => {
    const { start, comeBack, visit, exchanged } = open();
    for (let i = 0; i < 6; i++) {
      const loop = async () => {
        for (const _ of [1, 2, 3]) expect((await comeBack(`strangers${i}`)).outcome?.[2]).toBe(403);
      };
      await loop();
      await start();
      await loop();
      const { outcome } = await comeBack(`own${i}`);
      expect(outcome).toSatisfy(isAsked);
      const confirm = String(outcome?.[1]).split('=')[1];
      await loop();
      expect((await visit({ confirm, answer: 'continue' })).outcome).toEqual(success);
    }
    expect(exchanged).toEqual([0, 1, 2, 3, 4, 5].map((i) => `own${i}`));
  });

  it.each([
    ['auto', 'auto'],
    ['false', false],
  ] as const)(
    'after a callback without an attempt every login asks for ten minutes: confirm %s',
    async (...row) => {
      let now = 0;
      for (const [at, asks] of [
        [0, true],
        [599_999, true],
        [600_000, false],
      ] as const) {
        now = 0;
        const { start, comeBack } = open({ confirm: row[1], clock: () => now });
        await comeBack('strangers');
        now = at;
        await start();
        expect(isAsked((await comeBack('own')).outcome)).toBe(asks);
      }
    },
  );

  it('a callback in a logged-in browser marks it too, unless its auth_key was used', async () => {
    for (const [key, asks] of [
      ['strangers', true],
      ['own', false],
    ] as const) {
      const { start, comeBack } = open();
      await start();
      await comeBack('own');
      expect((await comeBack(key, { user })).outcome).toEqual(['pass']);
      await start({}, { user });
      expect(isAsked((await comeBack('next', { user })).outcome)).toBe(asks);
    }
  });

  it('a callback that another browser has opened first still completes its own login', async () => {
    const { start, comeBack } = open();
    await start();
    expect((await open().comeBack('own')).outcome?.[2]).toBe(403);
    expect((await comeBack('own')).outcome).toEqual(success);
  });

  it('many auth_keys in a loop are remembered up to a bound, and the visitor is asked', async () => {
    const { start, comeBack, session, browser } = open();
    for (let i = 0; i < 50; i++) await comeBack(`strangers${i}`);
    expect(JSON.stringify([session, browser.cookies]).length).toBeLessThan(300);
    await start();
    expect((await comeBack('strangers49')).outcome).toSatisfy(isAsked);
  });

  it('the loop writes little, so that it cannot undo what a concurrent start has saved', async () => {
    const { comeBack, session } = open();
    let writes = 0;
    session.save = (done: () => void) => {
      writes++;
      done();
    };
    for (let i = 0; i < 20; i++) {
      const { res } = await comeBack('strangers');
      if (where === 'cookie') writes += Object.keys(res.attributes).length;
    }
    expect(writes).toBe(1);
  });
});

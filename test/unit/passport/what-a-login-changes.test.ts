import { MemoryTokenStore } from 'marketgate';
import { expect, it, vi } from 'vitest';
import {
  confirmationOf,
  isAsked,
  openLogin,
  success,
  user,
} from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

// Where somebody is logged in already, a login connects a second account, or replaces who is logged in. A page elsewhere
// can bring the visitor to begin such a login on this site, so the question depends on what the login would change.

const ADA = { id: 'ada' };
const HERE = { headers: { 'sec-fetch-site': 'same-origin' } };
const passed = ['pass'];
const refused = ['fail', expect.objectContaining({ code: 'login_failed' }), 403];

const connect = { assignProperty: 'account' };
it.each([
  ['connect', connect, 'connected to your account here'],
  ['switch', {}, 'logged in with this marketplace account instead'],
] as const)(
  'a logged-in visitor is asked with every "confirm" before a login does this: %s',
  async (change, authOptions, words) => {
    const render = vi.fn((_page, _req, res) => res.end());
    for (const confirm of ['auto', true, false, { ask: false, render }] as const) {
      const { start, comeBack, visit } = openLogin({ confirm });
      await start(authOptions, { ...HERE, user: ADA });
      const { outcome } = await comeBack('k1', { user: ADA }, authOptions);
      const query = { marketgate: confirmationOf(outcome) };
      const { res } = await visit(query, { user: ADA }, authOptions);
      if (typeof confirm !== 'object') expect(res.body).toContain(words);
    }
    expect(render.mock.calls[0]?.[0]).toMatchObject({ change });
  },
);

it.each([
  ['the user’s own account, which changes nothing,', user, '77', false],
  ['another account', user, '78', true],
  ['the account of another user of this browser', ADA, '77', true],
  ['the account of a user with the same name of another kind', { _id: '77' }, '77', true],
])('a further login with %s is asked about (user %j, account %s): %s', async (...row) => {
  const [, who, user_id, asks] = row;
  const getUser = vi.fn(async () => userInfo);
  const { start, comeBack } = openLogin({ confirm: false, api: { getUser } });
  await start();
  expect((await comeBack('k1')).outcome).toEqual(success);
  getUser.mockResolvedValue({ ...userInfo, user_id });
  await start({}, { user: who });
  expect(isAsked((await comeBack('k2', { user: who })).outcome)).toBe(asks);
});

it('an account that the user has connected is not asked about when it is connected again', async () => {
  const { start, comeBack, visit } = openLogin();
  await start(connect, { user: ADA });
  const asked = await comeBack('k1', { user: ADA }, connect);
  const query = { marketgate: confirmationOf(asked.outcome), answer: 'continue' };
  expect((await visit(query, { user: ADA }, connect)).outcome).toEqual(success);
  await start(connect, { user: ADA });
  expect((await comeBack('k2', { user: ADA }, connect)).outcome).toEqual(success);
});

it.each([
  ['nobody, and then somebody', undefined, ADA, passed],
  ['somebody, and then nobody', ADA, undefined, refused],
  ['one user, and then another', ADA, user, passed],
])('a login does not count where %s is logged in, whether it waits or not', async (...row) => {
  const [, before, after, ends] = row;
  const tokenStore = new MemoryTokenStore({ clock: () => 0 });
  const { start, comeBack, visit, exchanged } = openLogin({ confirm: true, tokenStore });
  await start({}, { user: before });
  expect((await comeBack('strangers', { user: after })).outcome).toEqual(ends);
  expect(exchanged).toEqual([]);
  await start({}, { user: before });
  const page = { marketgate: confirmationOf((await comeBack('k1', { user: before })).outcome) };
  for (const query of [page, { ...page, answer: 'continue' }, { auth_key: 'k1' }]) {
    expect((await visit(query, { user: after })).outcome).toEqual(ends);
  }
  expect(await tokenStore.get('77')).toBeUndefined();
  const own = await visit({ ...page, answer: 'continue' }, { user: before });
  expect(own.outcome).toEqual(success);
});

it('"Continue" logs in nobody, and changes no token, where the service now names another account', async () => {
  const getUser = vi.fn(async () => userInfo);
  const tokenStore = new MemoryTokenStore({ clock: () => 0 });
  const { upToThePage, visit } = openLogin({ confirm: true, tokenStore, api: { getUser } });
  const id = await upToThePage();
  getUser.mockResolvedValueOnce({ ...userInfo, user_id: '78' });
  const { outcome } = await visit({ marketgate: id, answer: 'continue' });
  const why = { code: 'login_failed', message: expect.stringContaining('another') };
  expect(outcome).toMatchObject(['fail', why, 401]);
  for (const account of ['77', '78']) expect(await tokenStore.get(account)).toBeUndefined();
});

it('a login that is to lead back to its own start leads nowhere: it would begin a second one', async () => {
  const { start, comeBack } = openLogin();
  await start({ returnTo: '/login?again' }, { originalUrl: '/login?to=/login' });
  expect(await comeBack()).toMatchObject({ outcome: success, to: undefined });
});

import express from 'express';
import session from 'express-session';
import {
  currentUser,
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  MemoryTokenStore,
  requireLogin,
} from 'marketgate';
import { Passport } from 'passport';
import { describe, expect, it, vi } from 'vitest';
import { Browser } from '../../support/browser.js';
import { openShop } from '../../support/shop.js';
import {
  confirmationOf,
  isAsked,
  longSecret,
  type OpenLogin,
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

describe.each(['session', 'cookie'] as const)('with attempts in a %s', (where) => {
  const open = (options: OpenLogin = {}) => openLogin({ where, ...options });

  const connect = { assignProperty: 'account' };
  it.each([
    ['connect', connect, 'connected to your account here'],
    ['switch', {}, 'logged in with this marketplace account instead'],
  ] as const)(
    'a logged-in visitor is asked with every "confirm" before a login does this: %s',
    async (change, authOptions, words) => {
      const render = vi.fn((_page, _req, res) => res.end());
      for (const confirm of ['auto', true, false, { ask: false, render }] as const) {
        const { start, comeBack, visit } = open({ confirm });
        await start(authOptions, { ...HERE, user: ADA });
        const { outcome } = await comeBack('k1', { user: ADA }, authOptions);
        expect(outcome).toSatisfy(isAsked);
        const page = await visit(
          { marketgate: confirmationOf(outcome) },
          { user: ADA },
          authOptions,
        );
        if (typeof confirm !== 'object') expect(page.res.body).toContain(words);
      }
      expect(render.mock.calls[0]?.[0]).toMatchObject({ change });
    },
  );

  it.each([
    ['with the account that the user has logged in with is not asked about', '77', false],
    ['with another account is asked about', '78', true],
  ])('a further login %s', async (_which, user_id, asks) => {
    const getUser = vi.fn(async () => userInfo);
    const login = open({ confirm: false, api: { getUser } });
    await login.start();
    expect((await login.comeBack('k1')).outcome).toEqual(success);
    getUser.mockResolvedValue({ ...userInfo, user_id });
    await login.start({}, { user });
    expect(isAsked((await login.comeBack('k2', { user })).outcome)).toBe(asks);
  });

  it('an account that the user has connected is not asked about when it is connected again', async () => {
    const { start, comeBack, visit } = open();
    await start(connect, { user: ADA });
    const asked = await comeBack('k1', { user: ADA }, connect);
    const query = { marketgate: confirmationOf(asked.outcome), answer: 'continue' };
    expect((await visit(query, { user: ADA }, connect)).outcome).toEqual(success);
    await start(connect, { user: ADA });
    expect((await comeBack('k2', { user: ADA }, connect)).outcome).toEqual(success);
  });

  it.each([
    ['somebody else', ADA],
    ['a user with the same name of another kind', { _id: '77' }],
  ])('the account of one user is asked about for %s in the same browser', async (_who, other) => {
    const { start, comeBack } = open({ confirm: false });
    await start();
    expect((await comeBack('k1')).outcome).toEqual(success);
    await start({}, { user: other });
    expect((await comeBack('k2', { user: other })).outcome).toSatisfy(isAsked);
  });

  it.each([
    ['begun by nobody, once somebody is logged in', undefined, ADA, passed],
    ['of a user who has logged out', ADA, undefined, refused],
    ['of a user, once another one is logged in', ADA, user, passed],
  ])('an attempt %s is none, and its callback spends nothing', async (_whose, who, now, ends) => {
    const { start, comeBack, exchanged } = open({ confirm: false });
    await start({}, { ...HERE, user: who });
    expect((await comeBack('strangers', { user: now })).outcome).toEqual(ends);
    expect(exchanged).toEqual([]);
  });

  it.each([
    ['nobody, and then somebody', undefined, ADA],
    ['somebody, and then nobody', ADA, undefined],
    ['one user, and then another', ADA, user],
  ])(
    'a login that waits for "Continue" does not count where %s is logged in',
    async (_who, before, after) => {
      const tokenStore = new MemoryTokenStore({ clock: () => 0 });
      const { start, comeBack, visit } = open({ confirm: true, tokenStore });
      await start({}, { user: before });
      const id = confirmationOf((await comeBack('k1', { user: before })).outcome);
      const page = { marketgate: id };
      for (const query of [page, { ...page, answer: 'continue' }, { auth_key: 'k1' }]) {
        expect((await visit(query, { user: after })).outcome).toEqual(after ? passed : refused);
      }
      expect(await tokenStore.get('77')).toBeUndefined();
      const own = await visit({ marketgate: id, answer: 'continue' }, { user: before });
      expect(own.outcome).toEqual(success);
    },
  );

  it('"Continue" logs in nobody, and changes no token, where the service now names another account', async () => {
    const getUser = vi.fn(async () => userInfo);
    const tokenStore = new MemoryTokenStore({ clock: () => 0 });
    const own = { value: 'of 78', issuedAt: 0, expiresAt: 1000 };
    await tokenStore.set('78', own);
    const verify = vi.fn(() => user);
    const { upToThePage, visit } = open({ confirm: true, tokenStore, api: { getUser }, verify });
    const id = await upToThePage();
    getUser.mockResolvedValueOnce({ ...userInfo, user_id: '78' });
    const { outcome } = await visit({ marketgate: id, answer: 'continue' });
    expect(outcome).toMatchObject(['fail', { message: expect.stringContaining('another') }, 401]);
    expect([await tokenStore.get('78'), await tokenStore.get('77')]).toEqual([own, undefined]);
    expect(verify).not.toHaveBeenCalled();
  });
});

it.each(['/login', '/login?again'])(
  'a login that is to lead back to its own start, %s, leads nowhere: it would begin a second one',
  async (returnTo) => {
    const { start, comeBack } = openLogin();
    await start({ returnTo }, { originalUrl: '/login?to=/login' });
    expect(await comeBack()).toMatchObject({ outcome: success, to: undefined });
  },
);

it.each<[string, Partial<MarketplaceStrategyOptions>]>([
  ['a session', {}],
  ['a cookie', { loginAttempts: { cookieSecret: longSecret() } }],
])(
  'an hourly renewal needs no page, also where users have their ids elsewhere, and at another property of the request: with attempts in %s',
  async (_where, options) => {
    const { loginApi, serve } = await openShop();
    const verify = ({ profile }: { profile: { id: string } }) => ({ KEY: `row ${profile.id}` });
    const passport = new Passport();
    passport.use(new MarketplaceStrategy({ loginApi, ...options }, verify as never));
    passport.serializeUser((it, done) => done(null, (it as { KEY?: string }).KEY));
    passport.deserializeUser((KEY: string, done) => done(null, { KEY, seen: {} } as Express.User));
    const app = express();
    app.use(session({ secret: longSecret(), resave: false, saveUninitialized: false }));
    app.use(passport.initialize({ userProperty: 'customer' }), passport.session());
    const login = passport.authenticate('marketplace', { failWithError: true });
    app.get('/login', login);
    app.get('/callback', login, (_req, res) => res.redirect('/account'));
    app.get('/account', requireLogin(), (req, res) => void res.json(currentUser(req)));
    const origin = await serve(app);
    const browser = new Browser();
    for (let i = 0; i < 2; i++) {
      const { text } = await browser.logIn(`${origin}/login`, '3001');
      expect(JSON.parse(text)).toEqual({ KEY: 'row 3001', seen: {} });
    }
    expect((await browser.logIn(`${origin}/login`, '3002')).text).toContain('Continue as');
  },
);

// The shop in Express with login attempts and the login in a session, of the kind that the command line names.
import assert from 'node:assert/strict';
import express from 'express';
import { Passport } from 'passport';
import { runShop } from './run-shop.mjs';
import { inExpress } from './shop.mjs';

const [kind] = process.argv.slice(2);
// Passport cannot renew a cookie-session or an iron-session. So the login is refused at its start, when nothing is spent;
// and it works for an app that keeps the login itself.
const session = kind === 'express';

const middleware = {
  async express() {
    const { default: session } = await import('express-session');
    return session({ secret: 'a secret of this app', resave: false, saveUninitialized: false });
  },
  async iron() {
    const { getIronSession } = await import('iron-session');
    const password = 'a password of at least 32 characters';
    const options = { password, cookieName: 'shop', cookieOptions: { secure: false } };
    return async (req, res, next) => {
      req.session = await getIronSession(req, res, options);
      next();
    };
  },
  async cookie() {
    return (await import('cookie-session')).default({ name: 'shop', keys: ['a key'] });
  },
};

runShop(async (parts) => {
  const passport = new Passport();
  passport.serializeUser(({ id }, done) => done(null, id));
  passport.deserializeUser((id, done) => done(null, { id }));
  passport.use(parts.sessionStrategy);
  const own = express.Router();
  own.get('/login-with-session', passport.initialize(), passport.authenticate('marketplace'));
  own.get('/me', (req, res) => res.json(session ? req.user : req.session.user));
  const before = [await middleware[kind](), ...(session ? [passport.session()] : []), own];
  // What an app does that keeps the login itself; iron-session writes its cookie in `save`.
  const keep = async (req, _res, next) => {
    req.session.user = { id: req.user.id };
    await req.session.save?.();
    next();
  };
  // An iron-session answers with promises only, so not even an attempt can be in it: those are in a cookie.
  const login =
    kind === 'iron' ? parts.authenticate : passport.authenticate('marketplace', { session });
  const authenticate = session ? login : [login, keep];
  const shop = await inExpress(express, ...before)({ ...parts, authenticate });
  return {
    ...shop,
    async check({ ask }) {
      assert.deepEqual(JSON.parse((await ask('/me')).text), { id: '3001' }, 'still logged in');
      if (session) return;
      const { status, text } = await ask('/login-with-session');
      assert.equal(status, 500);
      assert.match(text, /cannot be renewed.*\(regenerate\(\)\); use express-session/);
    },
  };
});

import assert from 'node:assert/strict';
import express from 'express';
import { Passport } from 'passport';
import { listen } from './shop.mjs';

/** The shop in Express, with login attempts and the login in a session. */
export function serveWithSession(parts, middleware, { session = true } = {}) {
  const { guard, itemOf, broken, loadUser, userOf, onError, sessionStrategy } = parts;
  const passport = new Passport();
  passport.serializeUser(({ id }, done) => done(null, id));
  passport.deserializeUser((id, done) => done(null, { id }));
  passport.use(sessionStrategy);
  const app = express();
  app.use(middleware);
  if (session) app.use(passport.session());
  const authenticate = passport.authenticate('marketplace', { session });
  app.get('/download', guard, (req, res) => res.json(itemOf(req)));
  app.get('/broken', broken);
  app.get('/login', authenticate);
  app.get('/login-with-session', passport.initialize(), passport.authenticate('marketplace'));
  app.get('/callback', authenticate, loadUser, (req, res) => {
    if (!session) req.session.user = { id: req.user.id };
    res.json(userOf(req));
  });
  app.get('/me', (req, res) => res.json(session ? req.user : req.session.user));
  app.use(onError);
  return listen(app).then((shop) => ({
    ...shop,
    async check({ ask }) {
      assert.deepEqual(JSON.parse((await ask('/me')).text), { id: '3001' }, 'still logged in');
    },
  }));
}

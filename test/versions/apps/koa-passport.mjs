import Koa from 'koa';
import passportModule from 'koa-passport';
import session from 'koa-session';
import { serveKoa } from './koa.mjs';
import { runShop } from './shop.mjs';

runShop((parts) => {
  const { KoaPassport } = passportModule;
  const passport = new KoaPassport();
  passport.serializeUser(({ id }, done) => done(null, id));
  passport.deserializeUser((id, done) => done(null, { id }));
  passport.use(parts.sessionStrategy);
  const app = new Koa();
  app.keys = ['a secret of this app'];
  app.use(session(app));
  app.use(passport.initialize());
  app.use(passport.session());
  const login = passport.authenticate('marketplace');
  const keepUser = (ctx, next) => {
    ctx.req.user = ctx.state.user;
    return next();
  };
  return serveKoa(app, parts, { login, callback: [login, keepUser] });
});

import Koa from 'koa';
import connect from 'koa-connect';
import passportModule from 'koa-passport';
import session from 'koa-session';
import { MarketplaceStrategy } from 'marketgate';
import { listen, runShop } from './shop.mjs';

runShop(async ({ guard, itemOf, broken, loadUser, userOf, problemOf, loginApi, tokenStore }) => {
  const { KoaPassport } = passportModule;
  const passport = new KoaPassport();
  passport.serializeUser(({ id }, done) => done(null, id));
  passport.deserializeUser((id, done) => done(null, { id }));
  passport.use(
    new MarketplaceStrategy({ loginApi, tokenStore }, ({ profile }) => ({ id: profile.id })),
  );
  const app = new Koa();
  app.silent = true;
  app.keys = ['a secret of this app'];
  app.use(session(app));
  app.use(passport.initialize());
  app.use(passport.session());
  const on = (path, ...middleware) => {
    for (const each of middleware) {
      app.use((ctx, next) => (ctx.path === path ? each(ctx, next) : next()));
    }
  };
  app.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const problem = problemOf(error);
      if (problem === undefined) throw error;
      ctx.status = problem.status;
      ctx.body = problem;
      if (problem.retryAfter) ctx.set('Retry-After', String(problem.retryAfter));
    }
  });
  on('/download', connect(guard), (ctx) => {
    ctx.body = itemOf(ctx.req);
  });
  on('/broken', connect(broken));
  on('/login', passport.authenticate('marketplace'));
  on(
    '/callback',
    passport.authenticate('marketplace'),
    (ctx, next) => {
      ctx.req.user = ctx.state.user;
      return next();
    },
    connect(loadUser),
    (ctx) => {
      ctx.body = userOf(ctx.req);
    },
  );
  return listen(app.callback());
});

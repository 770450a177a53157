import Koa from 'koa';
import connect from 'koa-connect';
import { listen, runShop } from './shop.mjs';

runShop(async ({ guard, itemOf, broken, authenticate, loadUser, userOf, problemOf }) => {
  const app = new Koa({ silent: true });
  app.silent = true;
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
  on('/login', connect(authenticate));
  on('/callback', connect(authenticate), connect(loadUser), (ctx) => {
    ctx.body = userOf(ctx.req);
  });
  return listen(app.callback());
});

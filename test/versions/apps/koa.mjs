import connect from 'koa-connect';
import { listen } from './shop.mjs';

/** Serves a Koa app with the shop's routes. `login` and `callback` are middleware of Koa. */
export function serveKoa(app, { guard, itemOf, broken, loadUser, userOf, problemOf }, routes) {
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
  on('/login', routes.login);
  on('/callback', ...routes.callback, connect(loadUser), (ctx) => {
    ctx.body = userOf(ctx.req);
  });
  return listen(app.callback());
}

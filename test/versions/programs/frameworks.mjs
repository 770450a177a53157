// The shop in a framework that the command line names. Express, Nest and Next have programs of their own.
import { runShop } from './run-shop.mjs';
import { listen, routesOf } from './shop.mjs';

const frameworks = {
  async connect(parts) {
    const { default: connect } = await import('connect');
    const app = connect();
    for (const [path, ...handlers] of routesOf(parts)) {
      for (const handler of handlers) app.use(path, handler);
    }
    app.use(parts.onError);
    return listen(app);
  },

  async polka(parts) {
    const { default: polka } = await import('polka');
    const onError = (error, req, res) =>
      parts.onError(error, req, res, () => res.writeHead(500).end());
    const app = polka({ onError });
    for (const [path, ...handlers] of routesOf(parts)) app.get(path, ...handlers);
    return listen(app.handler);
  },

  async restify(parts) {
    const { default: restify } = await import('restify');
    const app = restify.createServer();
    for (const [path, ...handlers] of routesOf(parts)) {
      // It looks at how many arguments a handler declares.
      app.get(path, ...handlers.map((handler) => (req, res, next) => void handler(req, res, next)));
    }
    app.on('restifyError', (req, res, error, done) => parts.onError(error, req, res, () => done()));
    await new Promise((resolve) => app.listen(0, '127.0.0.1', resolve));
    return { port: app.address().port, close: () => app.close() };
  },

  async 'fastify-express'(parts) {
    const { default: Fastify } = await import('fastify');
    const app = Fastify();
    await app.register((await import('@fastify/express')).default);
    for (const [path, ...handlers] of routesOf(parts)) app.use(path, handlers);
    app.use(parts.onError);
    return serveFastify(app);
  },

  async 'fastify-middie'({ guard, broken, authenticate, loadUser, itemOf, userOf, problemOf }) {
    const { default: Fastify } = await import('fastify');
    const app = Fastify();
    await app.register((await import('@fastify/middie')).default);
    app.use('/download', guard);
    app.use('/broken', broken);
    app.use('/login', authenticate);
    app.use('/callback', authenticate);
    app.use('/callback', loadUser);
    app.get('/download', async ({ raw }) => itemOf(raw));
    for (const path of ['/broken', '/login']) app.get(path, async () => '');
    app.get('/callback', async ({ raw }) => userOf(raw));
    return serveFastify(app, problemOf);
  },

  async koa({ guard, broken, authenticate, loadUser, itemOf, userOf, problemOf }) {
    const { default: Koa } = await import('koa');
    const { default: connect } = await import('koa-connect');
    const app = new Koa();
    app.silent = true;
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
    const on = (path, ...middleware) => {
      for (const each of middleware.map(connect)) {
        app.use((ctx, next) => (ctx.path === path ? each(ctx, next) : next()));
      }
    };
    on('/download', guard);
    on('/broken', broken);
    on('/login', authenticate);
    on('/callback', authenticate, loadUser);
    app.use((ctx) => {
      ctx.body = ctx.path === '/download' ? itemOf(ctx.req) : userOf(ctx.req);
    });
    return listen(app.callback());
  },
};

/** Lets a Fastify app listen, and answer with problems. */
async function serveFastify(app, problemOf) {
  app.setErrorHandler((error, _request, reply) => {
    const problem = problemOf?.(error);
    if (problem === undefined) return reply.send(error);
    if (problem.retryAfter) reply.header('Retry-After', problem.retryAfter);
    return reply.code(problem.status).type('application/problem+json').send(problem);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: app.server.address().port, close: () => app.close() };
}

runShop(frameworks[process.argv[2]]);

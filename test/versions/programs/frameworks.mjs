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

  async 'fastify-passport'({ guard, broken, loadUser, itemOf, userOf, problemOf, ...parts }) {
    const { default: Fastify } = await import('fastify');
    const { Authenticator } = await import('@fastify/passport');
    const app = Fastify();
    const passport = new Authenticator();
    const secret = 'a-secret-of-at-least-32-characters';
    await app.register((await import('@fastify/cookie')).default);
    const session = (await import('@fastify/session')).default;
    await app.register(session, { secret, cookie: { secure: false } });
    await app.register(passport.initialize());
    await app.register(passport.secureSession());
    await app.register((await import('@fastify/middie')).default);
    passport.registerUserSerializer(async ({ id }) => id);
    passport.registerUserDeserializer(async (id) => ({ id }));
    // Its attempts are in the session of Fastify.
    passport.use(parts.sessionStrategy);
    app.use('/download', guard);
    app.use('/broken', broken);
    app.get('/download', async ({ raw }) => itemOf(raw));
    app.get('/broken', async () => '');
    const preValidation = passport.authenticate('marketplace');
    app.get('/login', { preValidation }, async () => '');
    app.get('/callback', { preValidation }, async (request, reply) => {
      await new Promise((resolve, reject) => {
        loadUser(request, reply.raw, (error) => (error ? reject(error) : resolve()));
      });
      return userOf(request);
    });
    return serveFastify(app, problemOf);
  },

  async koa(parts) {
    const { default: Koa } = await import('koa');
    const { default: connect } = await import('koa-connect');
    const login = connect(parts.authenticate);
    return serveKoa(new Koa(), connect, parts, login);
  },

  async 'koa-passport'(parts) {
    const { default: Koa } = await import('koa');
    const { default: connect } = await import('koa-connect');
    const { default: session } = await import('koa-session');
    const { KoaPassport } = (await import('koa-passport')).default;
    const passport = new KoaPassport();
    passport.serializeUser(({ id }, done) => done(null, id));
    passport.deserializeUser((id, done) => done(null, { id }));
    passport.use(parts.sessionStrategy);
    const app = new Koa();
    app.keys = ['a secret of this app'];
    app.use(session(app));
    app.use(passport.initialize());
    app.use(passport.session());
    const keepUser = (ctx, next) => {
      ctx.req.user = ctx.state.user;
      return next();
    };
    return serveKoa(app, connect, parts, passport.authenticate('marketplace'), keepUser);
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

/** Serves the shop with Koa. `connect` makes middleware of Koa; `login` is some already. */
function serveKoa(app, connect, parts, login, afterLogin = (_ctx, next) => next()) {
  app.silent = true;
  app.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const problem = parts.problemOf(error);
      if (problem === undefined) throw error;
      ctx.status = problem.status;
      ctx.body = problem;
      if (problem.retryAfter) ctx.set('Retry-After', String(problem.retryAfter));
    }
  });
  const on = (path, ...middleware) => {
    for (const each of middleware) {
      app.use((ctx, next) => (ctx.path === path ? each(ctx, next) : next()));
    }
  };
  const answer = (found) => (ctx) => {
    ctx.body = found(ctx.req);
  };
  on('/download', connect(parts.guard), answer(parts.itemOf));
  on('/broken', connect(parts.broken));
  on('/login', login);
  on('/callback', login, afterLogin, connect(parts.loadUser), answer(parts.userOf));
  return listen(app.callback());
}

runShop(frameworks[process.argv[2]]);

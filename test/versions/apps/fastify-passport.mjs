import cookie from '@fastify/cookie';
import middie from '@fastify/middie';
import { Authenticator } from '@fastify/passport';
import session from '@fastify/session';
import Fastify from 'fastify';
import { serveFastify } from './fastify.mjs';
import { runShop } from './shop.mjs';

runShop(async ({ guard, itemOf, broken, loadUser, userOf, problemOf, sessionStrategy }) => {
  const app = Fastify();
  const passport = new Authenticator();
  await app.register(cookie);
  await app.register(session, {
    secret: 'a-secret-of-at-least-32-characters',
    cookie: { secure: false },
  });
  await app.register(passport.initialize());
  await app.register(passport.secureSession());
  await app.register(middie);
  passport.registerUserSerializer(async ({ id }) => id);
  passport.registerUserDeserializer(async (id) => ({ id }));
  // Its attempts are in the session of Fastify.
  passport.use(sessionStrategy);
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
});

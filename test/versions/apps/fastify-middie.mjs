import middie from '@fastify/middie';
import Fastify from 'fastify';
import { serveFastify } from './fastify.mjs';
import { runShop } from './shop.mjs';

runShop(async ({ guard, itemOf, broken, authenticate, loadUser, userOf, problemOf }) => {
  const app = Fastify();
  await app.register(middie);
  app.use('/download', guard);
  app.use('/broken', broken);
  app.use('/login', authenticate);
  app.use('/callback', authenticate);
  app.use('/callback', loadUser);
  app.get('/download', async ({ raw }) => itemOf(raw));
  app.get('/broken', async () => '');
  app.get('/login', async () => '');
  app.get('/callback', async ({ raw }) => userOf(raw));
  return serveFastify(app, problemOf);
});

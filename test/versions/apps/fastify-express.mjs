import expressPlugin from '@fastify/express';
import Fastify from 'fastify';
import { runShop } from './shop.mjs';

runShop(async ({ guard, itemOf, broken, authenticate, loadUser, userOf, onError }) => {
  const app = Fastify();
  await app.register(expressPlugin);
  app.use('/download', [guard, (req, res) => void res.json(itemOf(req))]);
  app.use('/broken', broken);
  app.use('/login', authenticate);
  app.use('/callback', [authenticate, loadUser, (req, res) => void res.json(userOf(req))]);
  app.use(onError);
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: app.server.address().port, close: () => app.close() };
});

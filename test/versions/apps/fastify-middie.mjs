import middie from '@fastify/middie';
import Fastify from 'fastify';
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
  app.setErrorHandler((error, _request, reply) => {
    const problem = problemOf(error);
    if (problem === undefined) return reply.send(error);
    if (problem.retryAfter) reply.header('Retry-After', problem.retryAfter);
    return reply.code(problem.status).type('application/problem+json').send(problem);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: app.server.address().port, close: () => app.close() };
});

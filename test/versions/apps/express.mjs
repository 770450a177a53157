import express from 'express';
import { runShop } from './shop.mjs';

runShop(async ({ guard, itemOf, broken, authenticate, loadUser, userOf, onError }) => {
  const app = express();
  app.get('/download', guard, (req, res) => res.json(itemOf(req)));
  app.get('/broken', broken, (_req, res) => res.end());
  app.get('/login', authenticate);
  app.get('/callback', authenticate, loadUser, (req, res) => res.json(userOf(req)));
  app.use(onError);
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.on('listening', resolve));
  return { port: server.address().port, close: () => server.close() };
});

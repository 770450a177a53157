import restify from 'restify';
import { runShop } from './shop.mjs';

runShop(async ({ guard, itemOf, broken, authenticate, loadUser, userOf, onError }) => {
  const app = restify.createServer();
  app.get('/download', guard, (req, res, next) => {
    res.send(itemOf(req));
    next();
  });
  app.get('/broken', broken);
  app.get('/login', authenticate);
  app.get('/callback', authenticate, loadUser, (req, res, next) => {
    res.send(userOf(req));
    next();
  });
  app.on('restifyError', (req, res, error, done) => onError(error, req, res, () => done()));
  await new Promise((resolve) => app.listen(0, '127.0.0.1', resolve));
  return { port: app.address().port, close: () => app.close() };
});

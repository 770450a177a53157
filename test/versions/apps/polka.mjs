import polka from 'polka';
import { listen, runShop } from './shop.mjs';

runShop(async ({ guard, itemOf, broken, authenticate, loadUser, userOf, onError }) => {
  const onPolkaError = (error, req, res) =>
    onError(error, req, res, () => {
      res.statusCode = 500;
      res.end();
    });
  const app = polka({ onError: onPolkaError });
  app.get('/download', guard, (req, res) => res.end(JSON.stringify(itemOf(req))));
  app.get('/broken', broken, (_req, res) => res.end());
  app.get('/login', authenticate);
  app.get('/callback', authenticate, loadUser, (req, res) => res.end(JSON.stringify(userOf(req))));
  return listen(app.handler);
});

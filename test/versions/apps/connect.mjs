import connect from 'connect';
import { listen, runShop } from './shop.mjs';

runShop(async ({ guard, itemOf, broken, authenticate, loadUser, userOf, onError }) => {
  const app = connect();
  app.use('/download', guard);
  app.use('/download', (req, res) => res.end(JSON.stringify(itemOf(req))));
  app.use('/broken', broken);
  app.use('/login', authenticate);
  app.use('/callback', authenticate);
  app.use('/callback', loadUser);
  app.use('/callback', (req, res) => res.end(JSON.stringify(userOf(req))));
  app.use(onError);
  return listen(app);
});

import { createRouter, expressWrapper } from 'next-connect';
import { listen, runShop } from './shop.mjs';

// The handlers of Next's pages API, which get Node's request and response.
runShop(async ({ guard, itemOf, broken, authenticate, loadUser, userOf, onError }) => {
  const router = createRouter();
  const as = (found) => (req, res) => res.end(JSON.stringify(found(req)));
  router.get('/download', expressWrapper(guard), as(itemOf));
  router.get('/broken', expressWrapper(broken));
  router.get('/login', expressWrapper(authenticate));
  router.get('/callback', expressWrapper(authenticate), expressWrapper(loadUser), as(userOf));
  const failed = (error, req, res) =>
    onError(error, req, res, () => {
      res.statusCode = 500;
      res.end();
    });
  return listen(router.handler({ onError: failed }));
});

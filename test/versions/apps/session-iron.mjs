import { getIronSession } from 'iron-session';
import { runShop } from './shop.mjs';
import { serveWithSession } from './with-session.mjs';

runShop((parts) => {
  const options = {
    password: 'a password of at least 32 characters',
    cookieName: 'shop',
    cookieOptions: { secure: false },
  };
  return serveWithSession(parts, async (req, res, next) => {
    req.session = await getIronSession(req, res, options);
    next();
  });
});

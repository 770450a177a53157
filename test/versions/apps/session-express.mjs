import session from 'express-session';
import { runShop } from './shop.mjs';
import { serveWithSession } from './with-session.mjs';

runShop((parts) => {
  const secret = 'a secret of this app';
  return serveWithSession(parts, session({ secret, resave: false, saveUninitialized: false }));
});

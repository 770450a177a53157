import Koa from 'koa';
import connect from 'koa-connect';
import { serveKoa } from './koa.mjs';
import { runShop } from './shop.mjs';

runShop((parts) => {
  const login = connect(parts.authenticate);
  return serveKoa(new Koa(), parts, { login, callback: [login] });
});

import * as marketgate from 'marketgate';
import * as sandbox from 'marketgate/sandbox';
import passport from 'passport';
import { runShopOf } from './shop.mjs';

/** Runs a shop with the package as an ES module. */
export function runShop(serve) {
  const { Passport } = passport;
  runShopOf({ ...marketgate, ...sandbox, Passport }, serve).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}

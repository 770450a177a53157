// Also what is bundled, so it loads nothing by a computed name.
import express from 'express';
import session from 'express-session';
import * as marketgate from 'marketgate';
import * as sandbox from 'marketgate/sandbox';
import passport from 'passport';
import { runShop } from './shop.mjs';

const { Passport } = passport;
runShop({ ...marketgate, ...sandbox, Passport, express, session }).catch((error) => {
  console.error(error);
  process.exit(1);
});

// From CommonJS: every entry by require, and the same work.
const marketgate = require('marketgate');
const { RedisCache, RedisGuessLimit, RedisTokenStore } = require('marketgate/redis');
const { createSandbox } = require('marketgate/sandbox');
const express = require('express');
const passport = require('passport');
const { work } = require('./work.cjs');

const { KeyApi, LoginApi, MarketplaceStrategy, errorHandler, loadUser, requirePurchase } =
  marketgate;

work({
  ...{ KeyApi, LoginApi, MarketplaceStrategy, errorHandler, loadUser, requirePurchase },
  ...{ RedisCache, RedisGuessLimit, RedisTokenStore, createSandbox, express, passport },
  connect: require('./connect.cjs').connect,
}).catch((error) => {
  console.error(error);
  process.exit(1);
});

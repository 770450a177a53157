// As an ES module: every entry with named imports, and the same work.
import express from 'express';
import {
  errorHandler,
  KeyApi,
  LoginApi,
  loadUser,
  MarketplaceStrategy,
  requirePurchase,
} from 'marketgate';
import { RedisCache, RedisGuessLimit, RedisTokenStore } from 'marketgate/redis';
import { createSandbox } from 'marketgate/sandbox';
import passport from 'passport';
import { connect } from './connect.cjs';
import { work } from './work.cjs';

await work({
  ...{ KeyApi, LoginApi, MarketplaceStrategy, errorHandler, loadUser, requirePurchase },
  ...{ RedisCache, RedisGuessLimit, RedisTokenStore, createSandbox, express, passport, connect },
});

// As an ES module: every entry with named imports.
import express from 'express';
import * as marketgate from 'marketgate';
import * as redis from 'marketgate/redis';
import * as sandbox from 'marketgate/sandbox';
import passport from 'passport';
import { withRedis } from './connect.cjs';

await withRedis({ ...marketgate, ...redis, ...sandbox, Passport: passport.Passport }, express);

// As an ES module: every entry with named imports.
import express from 'express';
import session from 'express-session';
import * as marketgate from 'marketgate';
import * as redis from 'marketgate/redis';
import * as sandbox from 'marketgate/sandbox';
import passport from 'passport';
import { runWithRedis } from './redis-clients.mjs';

const { Passport } = passport;
await runWithRedis({ ...marketgate, ...redis, ...sandbox, Passport, express, session });

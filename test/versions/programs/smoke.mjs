// As an ES module: every entry with named imports, and the same work.
import express from 'express';
import * as marketgate from 'marketgate';
import * as redis from 'marketgate/redis';
import * as sandbox from 'marketgate/sandbox';
import passport from 'passport';
import { connect } from './connect.cjs';
import { work } from './work.cjs';

await work({ ...marketgate, ...redis, ...sandbox, express, passport, connect });

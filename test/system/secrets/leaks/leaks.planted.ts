import { MarketgateError } from 'marketgate';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { sweep } from '../../../support/secrets/watch/sweep.js';

const SECRET = 'planted-secret-5b1e09c27fd84a63';
beforeAll(() => sweep.secret('api_key', SECRET));

describe('a test', () => {
  it('leaks in an error', () => {
    new MarketgateError('login_failed', `with ${SECRET}`);
  });

  it('leaks in a log', () => {
    console.log(SECRET);
  });

  it('leaks nothing', () => {
    new MarketgateError('login_failed', 'with nothing');
  });
});

describe('a hook behind the tests', () => {
  it('leaks nothing', () => {});
  afterAll(() => {
    new MarketgateError('login_failed', `with ${SECRET} at the end`);
  });
});

import { inspect } from 'node:util';
import { isMarketgateError, MarketgateError } from 'marketgate';
import { expect, it } from 'vitest';

it('a MarketgateError has what Express and http-errors look for, and nothing that is unknown', () => {
  const refusal = new MarketgateError('purchase_required', 'no code came');
  expect(refusal).toBeInstanceOf(Error);
  const seen = { name: 'MarketgateError', code: 'purchase_required', message: 'no code came' };
  expect(refusal).toMatchObject({ ...seen, status: 402, statusCode: 402, expose: true });
  expect('retryAfter' in refusal || 'cause' in refusal).toBe(false);
  const cause = new Error('below');
  const failure = new MarketgateError('service_unavailable', 'x', { cause, retryAfter: 0.2 });
  expect(failure).toMatchObject({ expose: false, retryAfter: 0.2, cause });
  expect(failure.headers).toEqual({ 'Retry-After': '1' });
});

it('a MarketgateError is JSON without its stack and cause', () => {
  const error = new MarketgateError('login_failed', 'gone', { cause: new Error('below') });
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    name: 'MarketgateError',
    code: 'login_failed',
    status: 401,
    message: 'gone',
    help: 'npx marketgate explain login_failed',
  });
});

it('a message that visitors never see ends with the command that explains it', () => {
  const failure = new MarketgateError('store_unavailable', 'Redis is down');
  expect(failure.message).toBe('Redis is down (npx marketgate explain store_unavailable)');
  expect(inspect(failure)).toContain("help: 'npx marketgate explain store_unavailable'");
});

it('isMarketgateError knows the errors of another copy of the package, and no others', () => {
  const mark = Symbol.for('marketgate.error');
  const foreign = Object.defineProperty(new Error('x'), mark, { value: true });
  const known = [foreign, new MarketgateError('login_failed', 'x')];
  expect(known.map(isMarketgateError)).toEqual([true, true]);
  const others = [undefined, null, 'x', { code: 'login_failed', name: 'MarketgateError' }];
  expect(others.map(isMarketgateError)).toEqual([false, false, false, false]);
});

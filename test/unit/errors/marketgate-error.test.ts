import { inspect } from 'node:util';
import { isMarketgateError, MarketgateError } from 'marketgate';
import { expect, it } from 'vitest';

it('a MarketgateError has what Express and http-errors look for, and nothing that is unknown', () => {
  const refusal = new MarketgateError('purchase_required', 'no code came');
  expect(refusal).toBeInstanceOf(Error);
  expect(refusal).toMatchObject({
    name: 'MarketgateError',
    code: 'purchase_required',
    expose: true,
  });
  expect(refusal).toMatchObject({ status: 402, statusCode: 402, message: 'no code came' });
  expect('retryAfter' in refusal || 'cause' in refusal).toBe(false);
  const cause = new Error('below');
  const failure = new MarketgateError('service_unavailable', 'x', { cause, retryAfter: 0 });
  expect(failure).toMatchObject({ expose: false, retryAfter: 0, cause });
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
  expect(new MarketgateError('support_expired', 'over').message).toBe('over');
});

it('isMarketgateError knows the errors of another copy of the package', () => {
  const mark = Symbol.for('marketgate.error');
  const foreign = Object.defineProperty(new Error('x'), mark, { value: true });
  expect(isMarketgateError(foreign)).toBe(true);
  expect(isMarketgateError(new MarketgateError('login_failed', 'x'))).toBe(true);
});

it.each([undefined, null, 'x', new Error('x'), { code: 'login_failed', name: 'MarketgateError' }])(
  'isMarketgateError does not take %o for one',
  (value) => {
    expect(isMarketgateError(value)).toBe(false);
  },
);

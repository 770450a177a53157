import { inspect } from 'node:util';
import { isMarketgateError, MarketgateError } from 'marketgate';
import { describe, expect, it } from 'vitest';

describe('MarketgateError', () => {
  it('says what Express and http-errors look for', () => {
    const refusal = new MarketgateError('purchase_required', 'no code came');
    expect(refusal).toMatchObject({
      name: 'MarketgateError',
      code: 'purchase_required',
      status: 402,
      statusCode: 402,
      expose: true,
      message: 'no code came',
    });
    expect(refusal).toBeInstanceOf(Error);
    expect(new MarketgateError('service_unavailable', 'x').expose).toBe(false);
  });

  it('has retryAfter and cause only when there are any', () => {
    const bare = new MarketgateError('service_unavailable', 'x');
    expect('retryAfter' in bare).toBe(false);
    expect('cause' in bare).toBe(false);
    const cause = new Error('below');
    const full = new MarketgateError('service_unavailable', 'x', { cause, retryAfter: 0 });
    expect(full.cause).toBe(cause);
    expect(full.retryAfter).toBe(0);
  });

  it('is JSON without its stack and cause', () => {
    const error = new MarketgateError('login_failed', 'gone', { cause: new Error('below') });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'MarketgateError',
      code: 'login_failed',
      status: 401,
      message: 'gone',
      help: 'npx marketgate explain login_failed',
    });
  });

  it('leads to its page: an operator by the message too, a visitor is not bothered with it', () => {
    const failure = new MarketgateError('store_unavailable', 'Redis is down');
    expect(failure.help).toBe('npx marketgate explain store_unavailable');
    expect(failure.message).toBe('Redis is down (npx marketgate explain store_unavailable)');
    expect(Object.keys(failure)).toContain('help');
    expect(inspect(failure)).toContain("help: 'npx marketgate explain store_unavailable'");
    const refusal = new MarketgateError('support_expired', 'over');
    const help = 'npx marketgate explain support_expired';
    expect(refusal).toMatchObject({ message: 'over', help });
  });

  it('says it once, however often an error is made anew from its message', () => {
    const first = new MarketgateError('service_unavailable', 'down');
    const second = new MarketgateError('service_unavailable', first.message, { retryAfter: 3 });
    expect(second.message).toBe(first.message);
  });
});

describe('isMarketgateError', () => {
  it('knows the errors of another copy of the package', () => {
    const mark = Symbol.for('marketgate.error');
    const foreign = Object.defineProperty(new Error('x'), mark, { value: true });
    expect(isMarketgateError(foreign)).toBe(true);
    expect(isMarketgateError(new MarketgateError('login_failed', 'x'))).toBe(true);
  });

  it.each([
    undefined,
    null,
    'x',
    {},
    new Error('x'),
    { code: 'login_failed', name: 'MarketgateError' },
  ])('does not take %o for one', (value) => {
    expect(isMarketgateError(value)).toBe(false);
  });
});

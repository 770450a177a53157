import { type Account, loadAccount, MarketgateError } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { account } from '../../support/wire.js';

async function ending(getAccount: () => Promise<Account>) {
  const req: { marketplace?: { account?: Account } } = {};
  const res = fakeResponse();
  const error = await new Promise((resolve) =>
    loadAccount({ getAccount })(req as never, res, resolve as never),
  );
  return { error, req, res };
}

describe('loadAccount', () => {
  it('puts a copy of the account at req.marketplace and into the locals', async () => {
    const frozen = Object.freeze({ ...account }) as Account;
    const { error, req, res } = await ending(async () => frozen);
    expect(error).toBeUndefined();
    expect(req.marketplace).toEqual({ account });
    expect(res.locals.marketplace).toBe(req.marketplace);
    expect(Object.isFrozen(req.marketplace?.account)).toBe(false);
  });

  it('hands on that the service does not know the key, and puts nothing anywhere', async () => {
    const rejected = new MarketgateError('api_key_rejected', 'x');
    const { error, req } = await ending(() => Promise.reject(rejected));
    expect(error).toBe(rejected);
    expect(req).toEqual({});
  });
});

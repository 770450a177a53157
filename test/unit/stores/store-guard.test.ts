import { expect, it, vi } from 'vitest';
import { guardedCalls } from '../../../src/stores/store-guard.js';
import { deferred } from '../../support/deferred.js';

it('a store that hangs gets no more than 10,000 calls, from all its callers together', async () => {
  const store = {};
  const slow = deferred<string>();
  const work = vi.fn(() => slow.promise);
  const call = () => guardedCalls('test', store)('get', work);
  const calls = Array.from({ length: 10_000 }, () => call().catch(() => {}));
  await expect(call()).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('too many calls are unanswered'),
  });
  expect(work).toHaveBeenCalledTimes(10_000);
  expect(await guardedCalls('test', {})('get', async () => 'answer')).toBe('answer');
  slow.resolve('late');
  await Promise.all(calls);
  expect(await call()).toBe('late');
});

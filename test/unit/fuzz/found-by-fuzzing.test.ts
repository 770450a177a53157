import { expect, it } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { ITEM, keyApiOn } from '../../support/key-api-service.js';
import { text } from '../../support/service-in-memory.js';
import { CODE } from '../../support/wire.js';

it.each([429, 503])(
  'a compressed page, HTTP %d, cannot be read, but is an outage whose Retry-After holds',
  async (status) => {
    const headers = { 'retry-after': '40', 'content-encoding': 'gzip' };
    const { keyApi, service } = keyApiOn({ override: () => text('x', status, headers) });
    const error = await rejection(keyApi.validatePurchase(CODE));
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: 40 });
    expect((await rejection(keyApi.getItem(7))).retryAfter).toBeGreaterThan(0);
    expect(service.asked(ITEM)).toBe(0);
  },
);

it('a compressed answer, HTTP 200, is an unexpected response', async () => {
  const answer = text('x', 200, { 'content-encoding': 'gzip' });
  const { keyApi } = keyApiOn({ override: () => answer });
  await expectError(keyApi.getItem(7), 'unexpected_response');
});

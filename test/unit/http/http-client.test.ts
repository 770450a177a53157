import { describe, expect, it } from 'vitest';
import { expectError } from '../../support/errors.js';
import { KeyApiService, keyApiOn } from '../../support/key-api-service.js';
import { json, page, reset } from '../../support/service-in-memory.js';
import { CODE, refusal } from '../../support/wire.js';

describe('a read', () => {
  it('is repeated after an HTTP status that may pass, or a cut connection', async () => {
    // Side by side, because each waits before its second try.
    const repeat = async (status: number) => {
      const service = new KeyApiService();
      const failure = status === 0 ? reset() : page(status);
      service.override = (_request, n) => (n === 0 ? failure : undefined);
      const found = await service.client({ retries: 1 }).validatePurchase(CODE);
      return [status, found?.purchase_code, service.asked()];
    };
    const statuses = [500, 502, 503, 504, 408, 425, 0];
    const repeated = statuses.map((status) => [status, CODE, 2]);
    expect(await Promise.all(statuses.map(repeat))).toEqual(repeated);
  });

  it.each([
    ['an HTML page with 200', page(200), 'unexpected_response'],
    ['an HTML page with 404', page(404), 'unexpected_response'],
    ['a refusal', json(refusal('Missing'), 400), 'service_refused'],
  ])('is not repeated after %s, nor refused after many answers', async (_name, answer, code) => {
    const { service, keyApi } = keyApiOn({ override: () => answer }, { retries: 2 });
    for (let i = 0; i < 8; i++) await expectError(keyApi.getAccount(), code);
    expect(service.asked('all')).toBe(8);
  });
});

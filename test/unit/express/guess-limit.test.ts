import { loadPurchase, type RequirePurchaseOptions, requirePurchase } from 'marketgate';
import { expect, it, vi } from 'vitest';
import { runMiddleware } from '../../support/fake-response.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { guess } from '../../support/wire.js';

const open = (limit: number) => keyApiOn({ says: 'negative' }, { guessLimit: { limit } });

/** How a guard ends for another wrong code. */
let codes = 0;
async function ask(guard: ReturnType<typeof requirePurchase>, ip = '10.0.0.1') {
  const headers = { 'x-purchase-code': guess(codes++) };
  const { error, found } = await runMiddleware(guard, { headers, ip });
  return (error as { status?: number } | undefined)?.status ?? found?.verdict;
}

it('the guess limit is one count for all guards and loadPurchase, also behind a wrapper of the KeyApi', async () => {
  const { keyApi, service } = open(3);
  const wrapper = {
    validatePurchase: (code: string, options: object = {}) =>
      keyApi.validatePurchase(code, { ...options, fresh: true }),
  };
  const [one, other] = [requirePurchase(keyApi), requirePurchase(keyApi, { supported: true })];
  const ends = [await ask(one), await ask(other), await ask(requirePurchase(wrapper))];
  expect([...ends, await ask(one)]).toEqual([403, 403, 403, 429]);
  expect(await ask(loadPurchase(keyApi))).toBe('unknown');
  expect(service.asked()).toBe(3);
});

it('guards count by what the app says, once asked for each request; by address where that is nothing, and nobody where it is false', async () => {
  const ids: Record<string, unknown> = {
    '10.0.0.1': 'anna',
    '10.0.0.2': 'anna',
    '10.0.0.3': ' ',
    '10.0.0.4': false,
  };
  const client = vi.fn(({ ip = '' }) => ids[ip]);
  const guard = requirePurchase(open(1).keyApi, { client } as RequirePurchaseOptions);
  expect(await ask(guard, '10.0.0.1')).toBe(403);
  expect(client).toHaveBeenCalledTimes(1);
  expect(await ask(guard, '10.0.0.2')).toBe(429);
  for (const status of [403, 429]) expect(await ask(guard, '10.0.0.3')).toBe(status);
  for (let n = 0; n < 4; n++) expect(await ask(guard, '10.0.0.4')).toBe(403);
});

import { readFileSync } from 'node:fs';
import { isMarketgateError, requirePurchase } from 'marketgate';
import { expect, it, vi } from 'vitest';
import { runMiddleware } from '../../support/fake-response.js';
import { KeyApiService, VALIDATION } from '../../support/key-api-service.js';
import { json, page } from '../../support/service-in-memory.js';
import { CODE, guess, refusal } from '../../support/wire.js';

/** The table of the guide on outages, tried cell by cell. */
const guide = readFileSync(
  new URL('../../../examples/guides/refusals.md', import.meta.url),
  'utf8',
);
const table = /<!-- cases -->\n([\s\S]*?)<!-- \/cases -->/.exec(guide)?.[1] ?? '';
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| the service'))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  .map(([, state = '', code = '', deny = '', allow = '']) => [state, code, deny, allow] as const);

/** What the service is from then on. */
const STATES: Record<string, Partial<KeyApiService>> = {
  up: {},
  slow: { says: 'silence', override: undefined },
  limiting: { override: () => page(429, { 'retry-after': '30' }) },
  down: { says: 'outage', override: undefined },
  'not itself (an HTML page)': { says: 'page', override: undefined },
  'key revoked': { keys: new Set(), override: undefined },
};

it('the guide on outages has a row for each state of the service and kind of code', () => {
  expect(rows).toHaveLength(Object.keys(STATES).length * 3);
});

it.each(rows)('requirePurchase, service %s, code %s: %s, or with "allow" %s', async (...row) => {
  const [state, code, ...expected] = row;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const ends = ['deny', 'allow'].map(async (onUnknown) => {
    const service = new KeyApiService();
    service.override = ({ path, parameter }) =>
      path === VALIDATION && parameter('purchase_code') !== CODE
        ? json(refusal('Invalid purchase code'), 404)
        : undefined;
    const guard = requirePurchase(service.client(), { onUnknown: onUnknown as 'deny' });
    const headers = { 'x-purchase-code': code === 'seen invalid' ? guess(1) : CODE };
    const ask = () => runMiddleware(guard, { headers, ip: '192.0.2.1' });
    if (code !== 'never seen') await ask();
    // Past every age at which the cache would answer without asking.
    service.now += 2 * 3_600_000;
    Object.assign(service, STATES[state]);
    const { error, found } = await ask();
    return isMarketgateError(error) ? `${error.status} ${error.code}` : `in, ${found?.verdict}`;
  });
  // The timeout of the lookup, and that of the probe.
  for (let n = 0; n < 4; n++) await vi.advanceTimersByTimeAsync(10_000);
  expect(await Promise.all(ends)).toEqual(expected);
});

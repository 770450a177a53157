import { readFileSync } from 'node:fs';
import express from 'express';
import { errorHandler, requirePurchase } from 'marketgate';
import request from 'supertest';
import { expect, it, vi } from 'vitest';
import { openShop, type Shop } from '../../support/shop.js';

/**
 * The table of the guide on outages, read from it and tried cell by cell: a promise
 * that is not kept fails here.
 */
const page = readFileSync(new URL('../../../examples/guides/refusals.md', import.meta.url), 'utf8');
const table = /<!-- cases -->\n([\s\S]*?)<!-- \/cases -->/.exec(page)?.[1] ?? '';
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| the service'))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  .map(
    ([, service = '', code = '', deny = '', allow = '']) => [service, code, deny, allow] as const,
  );

const WRONG = '00000000-0000-4000-8000-000000000000';

/** Puts the service into the state of a row. */
const STATES: Record<string, (shop: Shop) => void> = {
  up: () => {},
  slow: ({ sandbox }) => {
    sandbox.faults.hang = true;
  },
  limiting: ({ sandbox }) => {
    sandbox.faults.rateLimit = 30;
  },
  down: ({ sandbox }) => {
    sandbox.faults.errorRate = 1;
  },
  'not itself (an HTML page)': ({ sandbox }) => {
    sandbox.faults.html = true;
  },
  'key revoked': ({ sandbox }) => {
    sandbox.data.rotateApiKey(sandbox.data.workspaces[0]?.id ?? '');
  },
};

it('the table is there, with a row for each state and kind of code', () => {
  expect(rows).toHaveLength(Object.keys(STATES).length * 3);
});

it.each(rows)('service %s, code %s: %s, or with "allow" %s', async (service, code, deny, allow) => {
  for (const [onUnknown, expected] of [
    ['deny', deny],
    ['allow', allow],
  ] as const) {
    const shop = await openShop();
    const app = express();
    app.get('/', requirePurchase(shop.keyApi, { onUnknown }), (req, res) => {
      res.json({ verdict: req.marketplace?.verdict });
    });
    app.use(errorHandler({ log: false }));
    const sent = code === 'seen invalid' ? WRONG : shop.code('supported');
    const ask = () => request(app).get('/').set('x-purchase-code', sent).then();
    if (code !== 'never seen') await ask();
    // Past every age at which the cache would answer without asking.
    shop.sandbox.clock.advance(2 * 3_600_000);
    STATES[service]?.(shop);
    const answer = await (service === 'slow' ? afterTheTimeout(ask, shop) : ask());
    const got =
      answer.status === 200 ? `in, ${answer.body.verdict}` : `${answer.status} ${answer.body.code}`;
    expect(got).toBe(expected);
  }
});

/** Lets the client's timeout pass as soon as the service has a request: that of the guard, and that of the probe. */
async function afterTheTimeout<T>(ask: () => Promise<T>, { sandbox }: Shop): Promise<T> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  sandbox.clearRequests();
  let isAnswered = false;
  const answer = ask().finally(() => {
    isAnswered = true;
  });
  for (let seen = 0; !isAnswered; await new Promise((resolve) => setImmediate(resolve))) {
    if (sandbox.requests.length === seen) continue;
    seen = sandbox.requests.length;
    vi.advanceTimersByTime(10_000);
  }
  return answer;
}

import {
  firstOf,
  fromHeader,
  fromQuery,
  fromSession,
  type LoadPurchaseOptions,
  loadPurchase,
  MarketgateError,
  MemoryHolderStore,
  type Middleware,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import { expect, it } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { CODE, guess, purchase } from '../../support/wire.js';

const WRONG = guess(1);
const keyApi = {
  validatePurchase: async (code: string) => (code === CODE ? purchase : null),
} as unknown as { validatePurchase: () => Promise<null> };
const outage = new MarketgateError('service_unavailable', 'x', { retryAfter: 6.2 });
const down = { validatePurchase: () => Promise.reject(outage) };

/** A visit with the code at each place, where the app has set these headers before the guard. */
async function visit(guard: Middleware, code: string | undefined, before = {}) {
  const res = fakeResponse();
  for (const [name, value] of Object.entries<string>(before)) res.setHeader(name, value);
  const req = {
    headers: { 'x-a': code, 'x-purchase-code': code },
    query: { purchase_code: code },
    session: { purchase_code: code },
  };
  const error = await new Promise((next) => guard(req as never, res, next));
  const told = [res.getHeader('Cache-Control'), res.getHeader('Vary')];
  return {
    error,
    told,
    expires: res.getHeader('Expires'),
    retryAfter: res.getHeader('Retry-After'),
  };
}

const holder = { store: new MemoryHolderStore(), id: () => 'anna' };
const several = firstOf(fromHeader('x-a'), fromSession(), fromHeader('X-A'));

// Without an expiry, a browser would go on using a file for a tenth of its age, also after an update.
it.each<[string, LoadPurchaseOptions, string | undefined]>([
  ['the header by default, and who holds it', { holder }, 'X-Purchase-Code, Cookie'],
  ['several places, one of them the session', { code: several }, 'x-a, Cookie'],
  ['the query', { code: fromQuery() }, undefined],
])(
  'a customer’s file is private, asked for again each time, and varies on where the code is: %s',
  async (...row) => {
    const [, options, vary] = row;
    for (const make of [requirePurchase, loadPurchase]) {
      const { error, told, expires } = await visit(make(keyApi, options), CODE);
      expect([error, ...told, expires]).toEqual([undefined, 'private', vary, '0']);
    }
  },
);

const allowing = () => requirePurchase(keyApiOn({ says: 'outage' }).keyApi, { onUnknown: 'allow' });

it.each<[string, () => Middleware, string | undefined, string | undefined]>([
  ['loadPurchase, a wrong code', () => loadPurchase(keyApi), WRONG, 'private'],
  ['loadPurchase, no code: everybody’s page', () => loadPurchase(keyApi), undefined, undefined],
  ['requirePurchase, an outage with "allow"', allowing, CODE, 'private'],
])('what is let through without a purchase: %s', async (_name, make, code, control) => {
  const { error, told } = await visit(make(), code);
  expect([error, ...told]).toEqual([undefined, control, 'X-Purchase-Code']);
});

it('what the app has set before stays for a customer; what it answers a refusal with is no-store', async () => {
  const set = { 'Cache-Control': 'public, max-age=60', Vary: 'Accept-Encoding' };
  const customer = await visit(requirePurchase(keyApi), CODE, set);
  expect(customer.told).toEqual([set['Cache-Control'], 'Accept-Encoding, X-Purchase-Code']);
  expect(customer.expires).toBeUndefined();
  const onDenied: RequirePurchaseOptions['onDenied'] = (_denial, _req, _res, next) => next();
  for (const [guard, retryAfter] of [
    [requirePurchase(keyApi), undefined],
    [requirePurchase(keyApi, { onDenied }), undefined],
    [requirePurchase(down), 7],
  ] as const) {
    const refusal = await visit(guard, WRONG, set);
    expect(refusal).toMatchObject({ told: ['no-store', 'Accept-Encoding'], retryAfter });
  }
});

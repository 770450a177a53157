import {
  type GuessLimit,
  loadPurchase,
  MarketgateError,
  type MarketgateErrorCode,
  type Purchase,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { purchase } from '../../support/wire.js';

const NOW = Date.parse('2026-06-01T12:00:00Z');
const CODE = purchase.purchase_code;

interface Ended {
  readonly error: { readonly code?: string } | undefined;
  readonly req: { readonly marketplace?: { verdict?: string; purchase?: object } };
}

/** A guard at work on a request, without a server. */
function guarded(
  found: Purchase | null,
  options: RequirePurchaseOptions = {},
  sent: unknown = CODE,
): Promise<Ended> {
  const keyApi = { validatePurchase: async () => found, clock: () => NOW };
  return end(requirePurchase(keyApi, options), sent);
}

function end(guard: ReturnType<typeof requirePurchase>, sent: unknown): Promise<Ended> {
  const req = { headers: { 'x-purchase-code': sent }, ip: '10.0.0.1' };
  return new Promise((resolve) =>
    guard(req as never, fakeResponse(), (error?: unknown) => resolve({ error, req } as Ended)),
  );
}

describe('support', () => {
  // Where a time that is taken for a local one is half a day off.
  beforeEach(() => void vi.stubEnv('TZ', 'Pacific/Auckland'));
  afterEach(() => void vi.unstubAllEnvs());

  const until = (supported_until: string | undefined) =>
    guarded({ ...purchase, supported_until } as Purchase, { supported: true });

  it.each([
    '2026-06-01T12:00:01Z',
    '2026-06-01T12:00:01z',
    '2026-06-01T12:00:01.000Z',
    '2026-06-01T14:00:01+02:00',
    '2026-06-01T14:00:01+0200',
    '2026-06-01T07:00:01-05:00',
    '2026-06-01T12:00:01',
    '2026-06-01 12:00:01',
    '2026-06-02',
  ])('until %s runs at noon of 1 June, UTC', async (end_) => {
    expect((await until(end_)).error).toBeUndefined();
  });

  it.each([
    '2026-06-01T12:00:00Z',
    '2026-06-01T13:59:59+02:00',
    '2026-06-01T13:59:59+0200',
    '2026-06-01T06:59:59-05:00',
    '2026-06-01T12:00:00',
    '2026-06-01 12:00:00',
    '2026-06-01',
    '',
    undefined,
  ])('until %s does not', async (end_) => {
    expect((await until(end_)).error?.code).toBe('support_expired');
  });

  it.each(['Jun 2, 2026', 'a purchase of 1200', 'for ever', '31.12.2099'])(
    'until %s is not to be found out, and lets nobody in',
    async (end_) => {
      const options = { supported: true, onUnknown: 'allow' } as const;
      const { error, req } = await guarded(
        { ...purchase, supported_until: end_ } as Purchase,
        options,
      );
      expect(error?.code).toBe('unexpected_response');
      expect(req.marketplace).toEqual({ verdict: 'unknown' });
    },
  );

  it('goes by the present of the machine where the client has no clock', async () => {
    const keyApi = { validatePurchase: async () => purchase as Purchase };
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2031-01-01T00:00:00Z') });
    try {
      const { error } = await end(requirePurchase(keyApi, { supported: true }), CODE);
      expect(error?.code).toBe('support_expired');
    } finally {
      vi.useRealTimers();
    }
  });

  it('is not asked for unless the app asks for it', async () => {
    const lapsed = { ...purchase, supported_until: undefined } as unknown as Purchase;
    expect((await guarded(lapsed, { supported: false })).error).toBeUndefined();
  });
});

describe('what a code comes to', () => {
  it.each<[string, unknown, string, string]>([
    ['nothing but what is not seen', '\u200b\u200d', 'purchase_required', 'absent'],
    ['null', null, 'purchase_required', 'absent'],
    ['a list', ['a'.repeat(20)], 'purchase_code_invalid', 'invalid'],
    ['seven letters', 'abcdefg', 'purchase_code_invalid', 'invalid'],
  ])('%s', async (_name, sent, code, verdict) => {
    const { error, req } = await guarded(purchase as Purchase, {}, sent);
    expect(error?.code).toBe(code);
    expect(req.marketplace).toEqual({ verdict });
  });

  it('a purchase that is refused is not shown to the handlers', async () => {
    const { error, req } = await guarded(purchase as Purchase, { item: 7 });
    expect(error?.code).toBe('purchase_item_mismatch');
    expect(req.marketplace).toEqual({ verdict: 'invalid' });
  });

  it('that was known before is found without asking', async () => {
    const keyApi = { validatePurchase: vi.fn(), peekPurchase: () => purchase as Purchase };
    const { error, req } = await end(requirePurchase(keyApi), CODE);
    expect(error).toBeUndefined();
    expect(req.marketplace?.purchase).toEqual(purchase);
    expect(keyApi.validatePurchase).not.toHaveBeenCalled();
  });

  it('that was known to be wrong is refused without asking', async () => {
    const keyApi = { validatePurchase: vi.fn(), peekPurchase: () => null };
    const { error } = await end(requirePurchase(keyApi), CODE);
    expect(error?.code).toBe('purchase_code_invalid');
    expect(keyApi.validatePurchase).not.toHaveBeenCalled();
  });

  it('an async "accept" is waited for also when the purchase was known', async () => {
    const keyApi = { validatePurchase: vi.fn(), peekPurchase: () => purchase as Purchase };
    const refused = await end(requirePurchase(keyApi, { accept: async () => false }), CODE);
    expect(refused.error?.code).toBe('purchase_not_accepted');
    const accepted = await end(requirePurchase(keyApi, { accept: async () => true }), CODE);
    expect(accepted.error).toBeUndefined();
  });

  it.each([1, 'yes', {}, undefined])('"accept" that gives %j does not accept', async (given) => {
    const { error } = await guarded(purchase as Purchase, { accept: () => given as boolean });
    expect(error?.code).toBe('purchase_not_accepted');
  });
});

describe('when the service could not say', () => {
  const failing = (code: MarketgateErrorCode) => ({
    validatePurchase: async () => Promise.reject(new MarketgateError(code, 'x')),
  });

  it.each(['api_key_rejected', 'service_unavailable', 'service_refused'] as const)(
    '%s is no refusal: onDenied does not hear of it',
    async (code) => {
      const onDenied = vi.fn();
      const guard = requirePurchase(failing(code), { onDenied, onUnknown: 'deny' });
      const { error, req } = await end(guard, CODE);
      expect(error?.code).toBe(code);
      expect(req.marketplace).toEqual({ verdict: 'unknown' });
      expect(onDenied).not.toHaveBeenCalled();
    },
  );

  it('for want of guesses, the verdict is "unknown" and it is a refusal', async () => {
    const onDenied = vi.fn((_denial, _req, _res, next: () => void) => next());
    const guessLimit: GuessLimit = {
      keyGenerator: () => 'x',
      reserve: async () => ({ isAllowed: false, retryAfter: 1 }),
    };
    const { req } = await guarded(purchase as Purchase, { guessLimit, onDenied });
    expect(onDenied).toHaveBeenCalledTimes(1);
    expect(req.marketplace).toEqual({ verdict: 'unknown' });
  });
});

describe('the items of a route', () => {
  it.each<[string, RequirePurchaseOptions['item']]>([
    ['digits', (() => '1042') as never],
    ['one of several', () => [7, 1042]],
    ['zero and it', [0, 1042]],
  ])('can be %s', async (_name, item) => {
    expect((await guarded(purchase as Purchase, { item })).error).toBeUndefined();
  });

  it('that make no sense are "invalid" to loadPurchase, and to requirePurchase an error', async () => {
    const item = () => Number.NaN;
    const keyApi = { validatePurchase: async () => purchase as Purchase };
    const loaded = await end(loadPurchase(keyApi, { item }), CODE);
    expect(loaded.error).toBeUndefined();
    expect(loaded.req.marketplace).toEqual({ verdict: 'invalid' });
    const guard = await end(requirePurchase(keyApi, { item }), CODE);
    expect(guard.error?.code).toBe('item_id_invalid');
    expect(guard.req.marketplace).toBeUndefined();
  });
});

import { type KeyApi, requirePurchase } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { runMiddleware } from '../../support/fake-response.js';
import { ACCOUNT, KeyApiService, keyApiOn } from '../../support/key-api-service.js';
import { json, page, type Reply, reset } from '../../support/service-in-memory.js';
import { VALIDATION } from '../../support/shop.js';
import { guess, refusal } from '../../support/wire.js';

/**
 * A service that answers like this about codes, where it does not deny that it knows them, and about the account, where that is
 * not as ever.
 */
function serviceThat(validation: Reply | undefined, account?: Reply): KeyApi {
  const service = new KeyApiService({ says: 'negative' });
  const replies: Record<string, Reply | undefined> = {
    [VALIDATION]: validation,
    [ACCOUNT]: account,
  };
  service.override = ({ path }) => replies[path];
  return service.client();
}

const ALLOW = { onUnknown: 'allow', client: false } as const;

/** What becomes of a visitor with a made-up code at a guard that lets visitors in during an outage. */
async function visit(keyApi: KeyApi, code: string) {
  const req = { headers: { 'x-purchase-code': code }, ip: '203.0.113.9' };
  return runMiddleware(requirePurchase(keyApi, ALLOW), req);
}

// The table of the guide on outages, in test/unit/express/every-case.test.ts, has what happens in an outage itself.
describe("onUnknown: 'allow'", () => {
  it.each<[string, Reply | undefined, account?: Reply]>([
    ['refuses in other words', json(refusal('Geçersiz kod'))],
    ['answers with a page of HTTP 403', page(403)],
    ['answers 500 for that code alone', page(500)],
    ['hangs up at that code alone', reset()],
    ['limits all requests', page(429), page(429)],
    ['fails, and limits account/details', page(503), page(429)],
    ['fails, and gives a page for account/details', page(503), page(200)],
    ['refuses in other words, and fails for account/details', json(refusal('Nein')), page(500)],
    ['gives a page, and fails for account/details', page(200), page(500)],
    ['does not know it, and fails for account/details', undefined, page(500)],
  ])('lets no made-up code in where the service %s', async (_what, validation, account) => {
    const keyApi = serviceThat(validation, account);
    for (let n = 0; n < 12; n++) expect((await visit(keyApi, guess(n))).error).toBeDefined();
  });

  it('lets made-up codes in during an outage, with a Retry-After or without, also once the breaker is open', async () => {
    for (const answer of [page(503), page(503, { 'retry-after': '30' }), page(500)]) {
      const { service, keyApi } = keyApiOn({ override: () => answer });
      for (let n = 0; n < 7; n++) expect((await visit(keyApi, guess(n))).error).toBeUndefined();
      expect(service.asked()).toBeLessThan(7);
    }
  });

  it("lets nobody in by an error of the app's own fetch, which reaches next unchanged", async () => {
    const bug = new ReferenceError('notDefined is not defined');
    const { keyApi } = keyApiOn({}, { fetch: () => Promise.reject(bug) });
    for (let n = 0; n < 7; n++) expect((await visit(keyApi, guess(n))).error).toBe(bug);
  });

  it('lets in through a wrapper that passes on what the KeyApi throws', async () => {
    const { keyApi } = keyApiOn({ override: () => reset() });
    const wrapper = { validatePurchase: (code: string) => keyApi.validatePurchase(code) };
    const req = { headers: { 'x-purchase-code': guess(1) }, ip: '203.0.113.9' };
    expect((await runMiddleware(requirePurchase(wrapper, ALLOW), req)).error).toBeUndefined();
  });

  it('lets only a well-formed code in where the service cannot be reached at all', async () => {
    const { keyApi } = keyApiOn({ override: () => reset() });
    const { error, found } = await visit(keyApi, guess(1));
    expect(error).toBeUndefined();
    // What is for the operator is not in the JSON of an app.
    expect(JSON.parse(JSON.stringify(found))).toEqual({ verdict: 'unknown' });
    expect((await visit(keyApi, 'kein gültiger Code')).error).toMatchObject({
      code: 'purchase_code_invalid',
    });
  });
});

describe('what this process lacks', () => {
  const failing = (code: string) => Object.assign(new Error('failed'), { code });
  const connecting = (...codes: string[]) =>
    Object.assign(new AggregateError(codes.map(failing)), { code: codes[0] });

  it.each<[string, () => Error]>([
    ['files', () => failing('EMFILE')],
    ['ports, where it has no IPv6', () => connecting('ENETUNREACH', 'EADDRNOTAVAIL')],
    ['files, for the second address', () => connecting('ENETUNREACH', 'EMFILE')],
    ['memory for a body', () => new RangeError('Array buffer allocation failed')],
    ['files, as fetch reports it', () => new TypeError('x', { cause: connecting('EMFILE') })],
  ])("opens no door with onUnknown: 'allow': %s", async (_what, failure) => {
    const { keyApi } = keyApiOn({ override: failure });
    for (let n = 0; n < 12; n++) {
      expect((await visit(keyApi, guess(n))).error).toMatchObject({ code: 'service_unavailable' });
    }
  });

  it.each<[string, () => Error]>([
    ['of the family that this machine lacks', () => connecting('EADDRNOTAVAIL', 'ECONNREFUSED')],
    ['that is silent', () => connecting('ENETUNREACH', 'ETIMEDOUT')],
    ['whose name cannot be looked up', () => failing('EAI_AGAIN')],
  ])(
    'is not lacking where the service cannot be reached at an address %s',
    async (_of, failure) => {
      const { keyApi } = keyApiOn({ override: failure });
      expect((await visit(keyApi, guess(0))).error).toBeUndefined();
    },
  );

  it('says nothing about the service also where only account/details meets it', async () => {
    expect((await visit(serviceThat(page(500), failing('EMFILE')), guess(0))).error).toBeDefined();
  });

  it('opens no door where it is time before the request, for the api_key', async () => {
    const { service, keyApi } = keyApiOn({}, { apiKey: () => new Promise(() => {}), timeout: 50 });
    expect((await visit(keyApi, guess(0))).error).toMatchObject({ code: 'service_unavailable' });
    expect(service.asked('all')).toBe(0);
  });
});

import { type KeyApi, requirePurchase } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { runMiddleware } from '../../support/fake-response.js';
import { ACCOUNT, keyApiOn, VALIDATION } from '../../support/key-api-service.js';
import { json, page, type Reply, reset } from '../../support/service-in-memory.js';
import { guess, refusal } from '../../support/wire.js';

/** How visitors with made-up codes end at a guard that lets visitors in during an outage. */
async function visits(keyApi: Pick<KeyApi, 'validatePurchase'>, count = 7): Promise<unknown[]> {
  const guard = requirePurchase(keyApi, { onUnknown: 'allow', client: false });
  const ends = [];
  for (let n = 0; n < count; n++) {
    ends.push((await runMiddleware(guard, { headers: { 'x-purchase-code': guess(n) } })).error);
  }
  return ends;
}
const letIn = expect.not.arrayContaining([expect.anything()]);
const refused = expect.not.arrayContaining([undefined]);

// The table of the guide on outages, in test/unit/express/every-case.test.ts, has what happens in an outage itself.
describe("onUnknown: 'allow'", () => {
  it.each<[string, Reply | undefined, account?: Reply]>([
    ['answers 500 for that code alone', page(500)],
    ['limits all requests', page(429), page(429)],
    ['fails, and limits account/details', page(503), page(429)],
    ['refuses in other words, and fails for account/details', json(refusal('Nein')), page(500)],
    ['does not know it, and fails for account/details', undefined, page(500)],
  ])('lets no made-up code in where the service %s', async (_what, validation, account) => {
    const { service, keyApi } = keyApiOn({ says: 'negative' });
    service.override = ({ path }) =>
      path === VALIDATION ? validation : path === ACCOUNT ? account : undefined;
    expect(await visits(keyApi)).toEqual(refused);
  });

  it('lets made-up codes in during an outage, with a Retry-After or without, also once the breaker is open', async () => {
    for (const answer of [page(503), page(503, { 'retry-after': '30' }), page(500)]) {
      const { service, keyApi } = keyApiOn({ override: () => answer });
      expect(await visits(keyApi)).toEqual(letIn);
      expect(service.asked()).toBeLessThan(7);
    }
  });

  it("lets nobody in by an error of the app's own fetch, which reaches next unchanged", async () => {
    const bug = new ReferenceError('notDefined is not defined');
    const { keyApi } = keyApiOn({}, { fetch: () => Promise.reject(bug) });
    for (const error of await visits(keyApi)) expect(error).toBe(bug);
  });

  it('lets only a well-formed code in, also through a wrapper, and shows visitors nothing of the outage', async () => {
    const { keyApi } = keyApiOn({ override: () => reset() });
    const wrapper = { validatePurchase: (code: string) => keyApi.validatePurchase(code) };
    const guard = requirePurchase(wrapper, { onUnknown: 'allow', client: false });
    const visit = (code: string) => runMiddleware(guard, { headers: { 'x-purchase-code': code } });
    const { error, found } = await visit(guess(1));
    expect([error, JSON.parse(JSON.stringify(found))]).toEqual([undefined, { verdict: 'unknown' }]);
    const malformed = await visit('kein gültiger Code');
    expect(malformed.error).toMatchObject({ code: 'purchase_code_invalid' });
  });

  const failing = (code: string) => Object.assign(new Error('failed'), { code });
  const connecting = (...codes: string[]) =>
    Object.assign(new AggregateError(codes.map(failing)), { code: codes[0] });

  it.each<[string, Error, unknown]>([
    ['this process lacks files', failing('EMFILE'), refused],
    ['ports are lacking, and IPv6', connecting('ENETUNREACH', 'EADDRNOTAVAIL'), refused],
    ['files are lacking for the second address', connecting('ENETUNREACH', 'EMFILE'), refused],
    ['memory for a body is lacking', new RangeError('Array buffer allocation failed'), refused],
    ['this machine lacks one family', connecting('EADDRNOTAVAIL', 'ECONNREFUSED'), letIn],
    ['its name cannot be looked up', failing('EAI_AGAIN'), letIn],
  ])('lets in for a failure of the service, and for none of its own: %s', async (...row) => {
    const [, failure, ends] = row;
    expect(await visits(keyApiOn({ override: () => failure }).keyApi)).toEqual(ends);
  });

  it('lets nobody in where it is time before the request, for the api_key', async () => {
    const { service, keyApi } = keyApiOn({}, { apiKey: () => new Promise(() => {}), timeout: 50 });
    expect(await visits(keyApi, 1)).toMatchObject([{ code: 'service_unavailable' }]);
    expect(service.asked('all')).toBe(0);
  });
});

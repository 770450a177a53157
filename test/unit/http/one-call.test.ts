import fc from 'fast-check';
import { isMarketgateError, KeyApi, LoginApi } from 'marketgate';
import { expect, it } from 'vitest';
import { CODE, KEY } from '../../support/wire.js';
import { type Behaviour, SimulatedService } from './simulation/simulated-service.js';
import { SimulatedTime } from './simulation/simulated-time.js';

const VALIDATION = '/api/purchases/validation';
const ACCOUNT = '/api/account/details';
const RUNS = { numRuns: 200, seed: 20261121 };

const time = new SimulatedTime();

/** What the service does to the first, the second, … request (the last goes on for ever), and a client's options. */
const plan = fc.record({
  schedule: fc.array(
    fc.record<Behaviour>({
      answer: fc.constantFrom('positive', 'negative', '500', 'reset', 'hang', 'page', '429'),
      after: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 12_000 })),
      retryAfter: fc.integer({ min: 0, max: 20 }),
    }),
    { minLength: 1, maxLength: 10 },
  ),
  retries: fc.integer({ min: 0, max: 6 }),
  timeout: fc.integer({ min: 20, max: 15_000 }),
});
type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

const behaviourOf = ({ schedule }: Plan, n: number): Behaviour =>
  schedule[Math.min(n, schedule.length - 1)] as Behaviour;

function open(given: Plan) {
  const service = new SimulatedService(time.now, (n) => behaviourOf(given, n));
  const { retries, timeout } = given;
  const options = { clock: time.now, dispatcher: service, retries, timeout };
  const url = 'https://simulated.test';
  const keyApi = new KeyApi({ baseUrl: url, apiKey: KEY, cache: false, ...options });
  const loginApi = new LoginApi({ authUrl: url, appId: 'a', appSecret: 'secret', ...options });
  return { service, keyApi, loginApi };
}

/** How a call ends, and after how long. */
function end(call: Promise<unknown>) {
  const begun = time.now();
  const took = () => time.now() - begun;
  return time.until(
    call.then(
      (value) => ({ value, code: undefined, took: took() }),
      (error: unknown) => {
        if (!isMarketgateError(error)) throw error;
        return { value: undefined, code: error.code, took: took() };
      },
    ),
  );
}

/** Nothing goes on without a caller. */
async function expectSilence(service: SimulatedService): Promise<void> {
  const before = service.count();
  await time.pass(120_000);
  expect(service.count()).toBe(before);
}

it('a call tries at most retries + 1 times, ends within its timeout, and invents no answer', async () => {
  const seen = new Set<string>();
  const property = fc.asyncProperty(plan, async (given) => {
    const { service, keyApi } = open(given);
    const { value, code, took } = await end(keyApi.validatePurchase(CODE));
    expect(took).toBeLessThanOrEqual(given.timeout);
    expect(service.count(VALIDATION)).toBeLessThanOrEqual(given.retries + 1);
    const answers = service.requests.map((_request, n) => behaviourOf(given, n).answer);
    if (value === null) {
      // A negative answer, and a key that the service knows.
      expect(answers).toContain('negative');
      expect(service.requests.at(-1)?.path).toBe(ACCOUNT);
    }
    if (value !== undefined) expect(answers.at(-1)).toBe('positive');
    seen.add(code ?? (value === null ? 'negative' : 'positive'));
    // The check of the key is for all callers: it can outlive the call.
    await time.pass(120_000);
    expect(service.count(ACCOUNT)).toBeLessThanOrEqual(given.retries + 1);
    await expectSilence(service);
  });
  await fc.assert(property, RUNS);
  // The runs reached every end there is.
  const errors = ['api_key_rejected', 'service_unavailable', 'unexpected_response'];
  expect(seen).toEqual(new Set(['positive', 'negative', ...errors]));
});

it('an exchange is sent once, whatever becomes of it; user info at most retries + 1 times', async () => {
  const seen = new Set<string>();
  const property = fc.asyncProperty(plan, async (given) => {
    const { service, loginApi } = open(given);
    const { code, took } = await end(loginApi.exchange('an-auth-key'));
    expect(service.count('/api/authorize')).toBe(1);
    expect(took).toBeLessThanOrEqual(given.timeout);
    seen.add(code ?? 'token');
    const user = await end(loginApi.getUser('a-token'));
    expect(service.count('/api/get_user_info')).toBeLessThanOrEqual(given.retries + 1);
    expect(user.took).toBeLessThanOrEqual(given.timeout);
    await expectSilence(service);
  });
  await fc.assert(property, RUNS);
  const errors = ['auth_key_rejected', 'service_unavailable', 'unexpected_response'];
  expect(seen).toEqual(new Set([...errors, 'token']));
});

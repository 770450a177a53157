import fc from 'fast-check';
import { isMarketgateError, KeyApi, LoginApi } from 'marketgate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CODE, KEY } from '../../support/wire.js';
import { mostlyAnswers, onlyFailures, type Plan, plan } from './simulation/plans.js';
import { type Behaviour, SimulatedService } from './simulation/simulated-service.js';
import { SimulatedTime } from './simulation/simulated-time.js';

const VALIDATION = '/api/purchases/validation';
const ACCOUNT = '/api/account/details';
const AUTHORIZE = '/api/authorize';
const RUNS = { numRuns: 200, seed: 20261121 };

let time: SimulatedTime;
beforeEach(() => {
  time = SimulatedTime.begin();
});
afterEach(() => time.end());

/** How the service behaves towards one request. */
const behaviourOf = ({ schedule }: Plan, n: number): Behaviour =>
  schedule[Math.min(n, schedule.length - 1)] as Behaviour;

const serve = (given: Plan) => new SimulatedService(time.now, (n) => behaviourOf(given, n));

const on = (dispatcher: SimulatedService, { retries, timeout }: Plan) =>
  ({ clock: time.now, dispatcher, retries, timeout }) as const;

const keyApiOn = (service: SimulatedService, given: Plan): KeyApi =>
  new KeyApi({
    ...{ baseUrl: 'https://simulated.test', apiKey: KEY, cache: false },
    ...on(service, given),
  });

const loginApiOn = (service: SimulatedService, given: Plan): LoginApi =>
  new LoginApi({
    ...{ authUrl: 'https://simulated.test', appId: 'app', appSecret: 'secret-of-the-app' },
    ...on(service, given),
  });

interface Ended {
  readonly value?: unknown;
  readonly code?: string;
  readonly took: number;
}

async function end(call: Promise<unknown>): Promise<Ended> {
  const begun = time.now();
  return time.until(
    call.then(
      (value) => ({ value, took: time.now() - begun }),
      (error: unknown) => {
        if (!isMarketgateError(error)) throw error;
        return { code: error.code, took: time.now() - begun };
      },
    ),
  );
}

/** Nothing goes on behind the caller's back. */
async function expectSilence(service: SimulatedService): Promise<void> {
  const before = service.count();
  await time.pass(120_000);
  expect(service.count()).toBe(before);
}

describe('one call, whatever the service does', () => {
  it('tries at most retries + 1 times, ends within its timeout, and invents no answer', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(plan, async (given) => {
        const service = serve(given);
        const ended = await end(keyApiOn(service, given).validatePurchase(CODE));
        expect(ended.took).toBeLessThanOrEqual(given.timeout);
        expect(service.count(VALIDATION)).toBeLessThanOrEqual(given.retries + 1);
        const answers = service.requests.map((_request, n) => behaviourOf(given, n).answer);
        if (ended.value === null) expect(answers).toContain('negative');
        else if (ended.value !== undefined) expect(answers.at(-1)).toBe('positive');
        else expect(ended.code).toBeDefined();
        seen.add(ended.code ?? (ended.value === null ? 'negative' : 'positive'));
        // The check of the key before a negative answer counts is a separate request, which other
        // callers can wait for: it can outlive the call, but it is bounded too.
        await time.pass(120_000);
        expect(service.count(ACCOUNT)).toBeLessThanOrEqual(given.retries + 1);
        await expectSilence(service);
      }),
      RUNS,
    );
    // The runs reached every end there is.
    expect([...seen].sort()).toEqual([
      'api_key_rejected',
      'negative',
      'positive',
      'service_unavailable',
      'unexpected_response',
    ]);
  });

  it('a null always has a negative answer of the service, and a key that it knows', async () => {
    let nulls = 0;
    await fc.assert(
      fc.asyncProperty(mostlyAnswers, async (given) => {
        const service = serve(given);
        const { value } = await end(keyApiOn(service, given).validatePurchase(CODE));
        if (value !== null) return;
        nulls++;
        const said = service.requests.map(({ path }, n) => [path, behaviourOf(given, n).answer]);
        expect(said).toContainEqual([VALIDATION, 'negative']);
        expect(said.at(-1)).toEqual([ACCOUNT, 'positive']);
      }),
      RUNS,
    );
    expect(nulls).toBeGreaterThan(10);
  });

  it('waits longer before each try, and never shorter than 50 ms', async () => {
    await fc.assert(
      fc.asyncProperty(onlyFailures, async (given) => {
        const service = serve(given);
        const { code } = await end(keyApiOn(service, given).getAccount());
        expect(code).toBe('service_unavailable');
        // After the fifth failure comes the probe.
        for (let n = 1; n < Math.min(service.requests.length, 5); n++) {
          const [before = 0, after = 0] = [service.times[n - 1], service.times[n]];
          const waited = after - before - behaviourOf(given, n - 1).after;
          const longest = Math.min(100 * 2 ** (n - 1), 2000);
          // A timer is a whole number of milliseconds.
          expect(waited).toBeGreaterThanOrEqual(Math.floor(longest / 2));
          expect(waited).toBeLessThanOrEqual(longest + 1);
        }
      }),
      RUNS,
    );
  });

  it('gives up at once when the wait would outlast the deadline', async () => {
    await fc.assert(
      fc.asyncProperty(onlyFailures, async (given) => {
        const service = serve(given);
        const { took } = await end(keyApiOn(service, given).getAccount());
        const last = service.requests.length - 1;
        const lastSent = (service.times[last] ?? 0) - (service.times[0] ?? 0);
        const { after } = behaviourOf(given, last);
        // A timer takes a millisecond at least.
        expect(took).toBeLessThanOrEqual(Math.min(lastSent + Math.max(after, 1), given.timeout));
      }),
      RUNS,
    );
  });

  it('an exchange is sent once, whatever becomes of it', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(plan, async (given) => {
        const service = serve(given);
        const ended = await end(loginApiOn(service, given).exchange('an-auth-key'));
        expect(service.count(AUTHORIZE)).toBe(1);
        expect(ended.took).toBeLessThanOrEqual(given.timeout);
        seen.add(ended.code ?? 'token');
        await expectSilence(service);
      }),
      RUNS,
    );
    const errors = ['auth_key_rejected', 'service_unavailable', 'unexpected_response'];
    expect(seen).toEqual(new Set([...errors, 'token']));
  });

  it('user info is read at most retries + 1 times, within the timeout', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (given) => {
        const service = serve(given);
        const ended = await end(loginApiOn(service, given).getUser('a-token'));
        expect(service.count('/api/get_user_info')).toBeLessThanOrEqual(given.retries + 1);
        expect(ended.took).toBeLessThanOrEqual(given.timeout);
        expect(ended.value).not.toBeNull();
        await expectSilence(service);
      }),
      RUNS,
    );
  });

  it('an abort ends it in the same moment, and takes the request back', async () => {
    await fc.assert(
      fc.asyncProperty(plan, fc.integer({ min: 0, max: 5000 }), async (given, after) => {
        const service = serve(given);
        const leaving = new AbortController();
        const begun = time.now();
        const call = keyApiOn(service, given).getAccount({ signal: leaving.signal });
        const ended = call.then(time.now, time.now);
        await time.pass(after);
        leaving.abort();
        expect((await time.until(ended)) - begun).toBeLessThanOrEqual(after);
        await expectSilence(service);
      }),
      RUNS,
    );
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { KeyApi } from 'marketgate';
import { secondsOf } from '../../oracle/answers.js';
import { checkError, SECRET, secretsOf, settled } from '../support/checks.js';
import { ServiceInMemory } from '../support/service-in-memory.js';
import { type Target, target } from '../support/target.js';
import { RETRY_AFTER } from '../support/wire-answer.js';

const SECRETS = secretsOf('apiKey');
const NOW = 1_800_000_000_000;
/** One wrong header must not end the shop. */
const LONGEST = 3600;

/** How long a client leaves the service alone, by the header and a clock that goes on, or back. */
export const retryAfterTargets = (): Target[] => [
  target('http:retry-after', 'Retry-After of a 429, and the time after it', () =>
    fc.asyncProperty(
      fc.oneof(RETRY_AFTER, fc.integer({ min: -10, max: 8000 }).map(String), nearDate),
      fc.integer({ min: -7_200_000, max: 7_200_000 }),
      async (header, later) => {
        let now = NOW;
        const service = new ServiceInMemory(() => ({
          status: 429,
          headers: { 'retry-after': header },
          bytes: Buffer.from('<html>Too many requests</html>'),
          cuts: [],
        }));
        const keyApi = new KeyApi({
          baseUrl: 'https://market.example',
          apiKey: SECRET.apiKey,
          dispatcher: service,
          cache: false,
          clock: () => now,
          retries: 2,
        });
        const first = await settled(keyApi.getAccount());
        assert.ok('error' in first);
        const error = checkError(first.error, SECRETS);
        assert.equal(error.code, 'service_unavailable');
        const said = secondsOf(header, NOW);
        const pause = error.retryAfter ?? -1;
        assert.ok(pause >= 0, 'it does not say for how long');
        if (said !== undefined) assert.equal(pause, Math.min(said, LONGEST));
        assert.equal(service.requests.length, 1, 'a 429 was repeated');

        now = NOW + later;
        const second = await settled(keyApi.getAccount());
        assert.ok('error' in second);
        const isAsked = service.requests.length > 1;
        if (later >= pause * 1000) assert.ok(isAsked, 'the pause does not end');
        else if (later >= 0) assert.ok(!isAsked, 'the pause was not kept');
        else assert.ok(checkError(second.error, SECRETS).retryAfter !== undefined);
      },
    ),
  ),
];

const nearDate = fc
  .integer({ min: -100_000, max: 10_000_000 })
  .map((ahead) => new Date(NOW + ahead).toUTCString());

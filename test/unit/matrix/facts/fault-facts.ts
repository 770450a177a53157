import type { ClientOptions, MarketgateErrorCode } from 'marketgate';
import type { SandboxFaults } from 'marketgate/sandbox';

/** One way in which a service fails, and what a caller of the client must see of it. */
export interface FaultFact {
  readonly name: string;
  readonly faults: Partial<SandboxFaults>;
  /** `answered`: as if nothing were wrong. */
  readonly ends: 'answered' | MarketgateErrorCode;
  /**
   * How often the service is asked by a client with two retries, when the question may be repeated.
   * An exchange is always sent once, and fails where it would have had to be repeated.
   */
  readonly tries: 1 | 2 | 3;
  /** Seconds that the error must name. */
  readonly retryAfter?: number;
  /** What the error must say. */
  readonly says?: RegExp;
  readonly options?: Partial<ClientOptions>;
}

const OUTAGE = 'service_unavailable';
const NONSENSE = 'unexpected_response';

/** Long enough to reach the service on a busy machine, and short enough to wait for. */
const IMPATIENT = { timeout: 400 };
/** More than any true answer, and less than what the faults send. */
const SMALL = { maxResponseBytes: 256 * 1024 };

/** Every fault that the contract names, by what it says of each: "How an answer is judged". */
export const FAULT_FACTS: readonly FaultFact[] = [
  { name: 'latency', faults: { latency: 40 }, ends: 'answered', tries: 1 },
  {
    name: 'latency beyond the timeout',
    faults: { latency: 60_000 },
    ends: OUTAGE,
    tries: 1,
    says: /no answer within 400 ms/,
    options: IMPATIENT,
  },
  {
    name: 'never answering',
    faults: { hang: true },
    ends: OUTAGE,
    tries: 1,
    says: /no answer within 400 ms/,
    options: IMPATIENT,
  },

  { name: 'errors', faults: { errorRate: 1 }, ends: OUTAGE, tries: 3, says: /HTTP 500/ },
  { name: 'one error', faults: { errorRate: 1, times: 1 }, ends: 'answered', tries: 2 },
  { name: 'two errors', faults: { errorRate: 1, times: 2 }, ends: 'answered', tries: 3 },
  { name: 'reset', faults: { reset: true }, ends: OUTAGE, tries: 3, says: /cut/ },
  { name: 'one reset', faults: { reset: true, times: 1 }, ends: 'answered', tries: 2 },

  {
    name: '429 with Retry-After in seconds',
    faults: { rateLimit: { retryAfter: 45, form: 'seconds' } },
    ends: OUTAGE,
    tries: 1,
    retryAfter: 45,
    says: /429/,
  },
  {
    name: '429 with Retry-After as a date',
    faults: { rateLimit: { retryAfter: 90, form: 'http-date' } },
    ends: OUTAGE,
    tries: 1,
    retryAfter: 90,
    says: /429/,
  },

  { name: 'HTML with 200', faults: { html: true }, ends: NONSENSE, tries: 1, says: /HTML page/ },
  {
    name: 'text ahead of the JSON',
    faults: { warnings: true },
    ends: NONSENSE,
    tries: 1,
    says: /text ahead of the JSON/,
  },
  { name: 'byte order mark', faults: { bom: true }, ends: 'answered', tries: 1 },
  { name: 'wrong content type', faults: { contentType: true }, ends: 'answered', tries: 1 },
  {
    name: 'byte order mark, wrong content type and latency',
    faults: { bom: true, contentType: 'image/png', latency: 10 },
    ends: 'answered',
    tries: 1,
  },

  { name: 'truncated', faults: { truncated: true }, ends: NONSENSE, tries: 1, says: /cut JSON/ },
  {
    name: 'oversize',
    faults: { oversize: 300_000 },
    ends: NONSENSE,
    tries: 1,
    says: /larger than 262144 bytes/,
    options: SMALL,
  },
  {
    name: 'as large as allowed',
    faults: { oversize: SMALL.maxResponseBytes },
    ends: 'answered',
    tries: 1,
    options: SMALL,
  },
  {
    name: 'endless',
    faults: { endless: true },
    ends: NONSENSE,
    tries: 1,
    says: /larger than 262144 bytes/,
    options: SMALL,
  },
  {
    name: 'endless and slow',
    faults: { endless: 'slow' },
    ends: OUTAGE,
    tries: 1,
    says: /no answer within 400 ms/,
    options: IMPATIENT,
  },
  {
    name: 'gzip bomb',
    faults: { gzipBomb: 2_000_000 },
    ends: NONSENSE,
    tries: 1,
    says: /compressed/,
  },

  ...([301, 302, 303, 307, 308] as const).map(
    (status): FaultFact => ({
      name: `redirect to another host (${status})`,
      faults: { redirect: { status } },
      ends: NONSENSE,
      tries: 1,
      says: /redirected/,
    }),
  ),
];

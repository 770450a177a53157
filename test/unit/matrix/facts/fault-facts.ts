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

/** Long enough to reach the service on a busy machine, and short enough to wait for. */
const IMPATIENT = { timeout: 400 };
/** More than any true answer, and less than what the faults send. */
const SMALL = { maxResponseBytes: 256 * 1024 };

/** A fault whose error is retried `tries - 1` times. */
const outage = (name: string, faults: FaultFact['faults'], tries: 1 | 3, says: RegExp) =>
  ({ name, faults, ends: 'service_unavailable', tries, says }) as const;

const tooLate = (name: string, faults: FaultFact['faults']): FaultFact => ({
  ...outage(name, faults, 1, /no answer within 400 ms/),
  options: IMPATIENT,
});

/** A fault that no retry would mend. */
const unexpected = (name: string, faults: FaultFact['faults'], says: RegExp) =>
  ({ name, faults, ends: 'unexpected_response', tries: 1, says }) as const;

const tooLarge = (name: string, faults: FaultFact['faults']): FaultFact => ({
  ...unexpected(name, faults, /larger than 262144 bytes/),
  options: SMALL,
});

/** A fault that the caller does not notice. */
const answered = (name: string, faults: FaultFact['faults'], tries: 1 | 2 | 3 = 1) =>
  ({ name, faults, ends: 'answered', tries }) as const;

/** Every fault that the contract names, by what it says of each: "How an answer is judged". */
export const FAULT_FACTS: readonly FaultFact[] = [
  answered('latency', { latency: 40 }),
  tooLate('latency beyond the timeout', { latency: 60_000 }),
  tooLate('never answering', { hang: true }),
  outage('errors', { errorRate: 1 }, 3, /HTTP 500/),
  answered('one error', { errorRate: 1, times: 1 }, 2),
  answered('two errors', { errorRate: 1, times: 2 }, 3),
  outage('reset', { reset: true }, 3, /cut/),
  answered('one reset', { reset: true, times: 1 }, 2),
  {
    ...outage('429, seconds', { rateLimit: { retryAfter: 45, form: 'seconds' } }, 1, /429/),
    retryAfter: 45,
  },
  {
    ...outage('429, a date', { rateLimit: { retryAfter: 90, form: 'http-date' } }, 1, /429/),
    retryAfter: 90,
  },
  unexpected('HTML with 200', { html: true }, /HTML page/),
  unexpected('text ahead of the JSON', { warnings: true }, /text ahead of the JSON/),
  answered('byte order mark', { bom: true }),
  answered('wrong content type', { contentType: true }),
  answered('all three', { bom: true, contentType: 'image/png', latency: 10 }),
  unexpected('truncated', { truncated: true }, /cut JSON/),
  tooLarge('oversize', { oversize: 300_000 }),
  { ...answered('as large as allowed', { oversize: SMALL.maxResponseBytes }), options: SMALL },
  tooLarge('endless', { endless: true }),
  tooLate('endless and slow', { endless: 'slow' }),
  unexpected('gzip bomb', { gzipBomb: 2_000_000 }, /compressed/),
  ...([301, 302, 303, 307, 308] as const).map((status) =>
    unexpected(`redirect to another host (${status})`, { redirect: { status } }, /redirected/),
  ),
];

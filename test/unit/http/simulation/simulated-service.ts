import { KEY_ENDPOINTS } from '../../../oracle/key-api-rows.js';
import { LOGIN_ENDPOINTS } from '../../../oracle/login-api-rows.js';
import {
  json,
  page,
  type Reply,
  reset,
  ServiceInMemory,
  type ServiceRequest,
  text,
} from '../../../support/service-in-memory.js';
import { CODE, refusal } from '../../../support/wire.js';

/** How the service behaves towards one request. */
export interface Behaviour {
  /**
   * `positive` and `negative` in the documented words; `500` a page; `reset` a cut connection; `hang` no answer;
   * `page` an HTML page with 200; `429` with `Retry-After`.
   */
  readonly answer: 'positive' | 'negative' | '500' | 'reset' | 'hang' | 'page' | '429';
  /** Milliseconds until that. */
  readonly after: number;
  /** Seconds, for `429`. */
  readonly retryAfter?: number;
}

/** The documented positive and negative answers. */
const ENDPOINTS = [
  ...Object.values(KEY_ENDPOINTS).map((each) => ({
    ...each,
    negative: json(refusal(each.no), 404),
  })),
  ...Object.values(LOGIN_ENDPOINTS).map((each) => ({
    ...each,
    negative: json({ error: true, message: 'Bad Request' }),
  })),
];

/** The service in memory, with answers that take simulated time: an hour of an outage takes a second. */
export class SimulatedService extends ServiceInMemory {
  /** When each request came. */
  readonly times: readonly number[];

  constructor(now: () => number, behave: (n: number, request: ServiceRequest) => Behaviour) {
    const times: number[] = [];
    const answer = (
      request: ServiceRequest,
      n: number,
    ): Promise<Exclude<Reply, Promise<unknown>>> => {
      times.push(now());
      const behaviour = behave(n, request);
      return new Promise((resolve) => {
        if (behaviour.answer === 'hang') return;
        setTimeout(() => resolve(replyTo(request, behaviour)), behaviour.after);
      });
    };
    super(answer, { isSwept: false });
    this.times = times;
  }
}

function replyTo(
  request: ServiceRequest,
  { answer, retryAfter = 30 }: Behaviour,
): Exclude<Reply, Promise<unknown>> {
  if (answer === 'reset') return reset();
  if (answer === '500') return page(500);
  if (answer === '429') return page(429, { 'retry-after': String(retryAfter) });
  const endpoint = ENDPOINTS.find(({ path }) => path === request.path);
  if (endpoint === undefined || answer === 'page') return page();
  if (answer === 'negative') return endpoint.negative;
  // A purchase is that of the code that was sent.
  const sent = request.parameter('purchase_code') ?? CODE;
  return text(JSON.stringify(endpoint.payload).replace(CODE, sent));
}

import { KEY_ENDPOINTS } from '../../../oracle/key-api-rows.js';
import { LOGIN_ENDPOINTS } from '../../../oracle/login-api-rows.js';
import {
  json,
  page,
  reset,
  ServiceInMemory,
  type ServiceRequest,
  text,
  type WireAnswer,
} from '../../../support/service-in-memory.js';
import { CODE, refusal } from '../../../support/wire.js';

/** How the service behaves towards one request. */
export interface Behaviour {
  /** `500` and `503` are pages; `reset` a cut connection; `hang` no answer; `page` an HTML page with 200. */
  readonly answer: 'positive' | 'negative' | '500' | '503' | 'reset' | 'hang' | 'page' | '429';
  /** Milliseconds until that. */
  readonly after: number;
  /** Seconds, for `429`. */
  readonly retryAfter?: number;
}

/** The service in memory, with answers that take simulated time: an hour of an outage takes a second. */
export class SimulatedService extends ServiceInMemory {
  constructor(behave: (request: ServiceRequest) => Behaviour) {
    super(
      (request) => {
        const behaviour = behave(request);
        return new Promise((resolve) => {
          if (behaviour.answer === 'hang') return;
          setTimeout(() => resolve(replyTo(request, behaviour)), behaviour.after);
        });
      },
      { isSwept: false },
    );
  }
}

function replyTo(
  { path, parameter }: ServiceRequest,
  { answer, retryAfter = 30 }: Behaviour,
): WireAnswer | Error {
  if (answer === 'reset') return reset();
  if (answer === '500' || answer === '503') return page(Number(answer));
  if (answer === '429') return page(429, { 'retry-after': String(retryAfter) });
  const key = Object.values(KEY_ENDPOINTS).find((each) => each.path === path);
  const login = Object.values(LOGIN_ENDPOINTS).find((each) => each.path === path);
  const payload = (key ?? login)?.payload;
  if (payload === undefined || answer === 'page') return page();
  if (answer === 'positive') {
    // A purchase is that of the code that was sent.
    return text(JSON.stringify(payload).replace(CODE, parameter('purchase_code') ?? CODE));
  }
  return key ? json(refusal(key.no), 404) : json({ error: true, message: 'Bad Request' });
}

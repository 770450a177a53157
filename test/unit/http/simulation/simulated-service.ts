import {
  json,
  page,
  type Reply,
  reset,
  ServiceInMemory,
  type ServiceRequest,
} from '../../../support/service-in-memory.js';
import { account, CODE, purchase, refusal, success } from '../../../support/wire.js';

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

/** The documented words of a positive and of a negative answer, by path. */
const WORDS: Readonly<
  Record<string, { positive: object; negative: [body: object, status: number] }>
> = {
  '/api/account/details': {
    positive: success({ data: account }),
    negative: [refusal('Invalid request'), 401],
  },
  '/api/purchases/validation': {
    positive: success({ data: { purchase } }),
    negative: [refusal('Invalid purchase code'), 404],
  },
  '/api/authorize': {
    positive: { access_token: 'a-token' },
    negative: [{ error: true, message: 'Bad Request, invalid auth_key' }, 200],
  },
  '/api/get_user_info': {
    positive: { user_info: { user_id: '77', user_name: 'mira', user_email: 'mira@example.test' } },
    negative: [{ error: true, message: 'Bad Request, expired access_token' }, 200],
  },
};

/** The service in memory, with answers that take simulated time: an hour of an outage takes a second. */
export class SimulatedService extends ServiceInMemory {
  /** When each request came. */
  readonly times: readonly number[];

  constructor(now: () => number, behave: (n: number, path: string) => Behaviour) {
    const times: number[] = [];
    const answer = (
      request: ServiceRequest,
      n: number,
    ): Promise<Exclude<Reply, Promise<unknown>>> => {
      times.push(now());
      const behaviour = behave(n, request.path);
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
  const words = WORDS[request.path];
  if (words === undefined || answer === 'page') return page();
  if (answer === 'negative') return json(...words.negative);
  // A purchase is that of the code that was sent.
  const sent = request.parameter('purchase_code') ?? CODE;
  return json(JSON.parse(JSON.stringify(words.positive).replace(CODE, sent)));
}

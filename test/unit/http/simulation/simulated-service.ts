import { Dispatcher } from 'undici';
import { account, CODE, purchase, refusal, success } from '../../../support/wire.js';

/** How the service behaves towards one request. */
export interface Behaviour {
  /**
   * `yes` and `no` in the documented words; `500` a page; `reset` a cut connection; `hang` no answer;
   * `page` an HTML page with 200; `429` with `Retry-After`; `trickle` headers, and then nothing.
   */
  readonly answer: 'yes' | 'no' | '500' | 'reset' | 'hang' | 'page' | '429' | 'trickle';
  /** Milliseconds until that. */
  readonly after: number;
  /** Seconds, for `429`. */
  readonly retryAfter?: number;
}

/** One request as the service saw it. */
export interface Seen {
  readonly at: number;
  readonly path: string;
  /** Whether the client took it back before it was answered. */
  aborted: boolean;
}

const ACCOUNT = '/api/account/details';
const USER = { user_id: '77', user_name: 'mira', user_email: 'mira@example.test' };

/** The documented words of a yes and of a no, by path. */
const WORDS: Readonly<Record<string, { yes: object; no: [status: number, body: object] }>> = {
  [ACCOUNT]: { yes: success({ data: account }), no: [401, refusal('Invalid request')] },
  '/api/purchases/validation': {
    yes: success({ data: { purchase } }),
    no: [404, refusal('Invalid purchase code')],
  },
  '/api/authorize': {
    yes: { access_token: 'a-token' },
    no: [200, { error: true, message: 'Bad Request, invalid auth_key' }],
  },
  '/api/get_user_info': {
    yes: { user_info: USER },
    no: [200, { error: true, message: 'Bad Request, expired access_token' }],
  },
};

/**
 * The service as a dispatcher that lives by simulated time: no socket, so a hundred thousand requests
 * take a second. It behaves towards each request as it is told.
 */
export class SimulatedService extends Dispatcher {
  readonly seen: Seen[] = [];
  readonly #behave: (n: number, path: string) => Behaviour;
  readonly #now: () => number;

  constructor(now: () => number, behave: (n: number, path: string) => Behaviour) {
    super();
    this.#now = now;
    this.#behave = behave;
  }

  /** How many requests came, to one path or in all. */
  count(path?: string): number {
    return path === undefined
      ? this.seen.length
      : this.seen.filter((request) => request.path === path).length;
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const path = String(options.path).replace(/\?.*/, '');
    const request: Seen = { at: this.#now(), path, aborted: false };
    const behaviour = this.#behave(this.seen.push(request) - 1, path);
    let timer: NodeJS.Timeout | undefined;
    const controller = {
      aborted: false as boolean,
      paused: false,
      reason: null as Error | null,
      pause() {},
      resume() {},
      abort(reason: Error) {
        if (controller.aborted) return;
        controller.aborted = true;
        controller.reason = reason;
        request.aborted = true;
        clearTimeout(timer);
        // As undici does: not within the call.
        queueMicrotask(() => handler.onResponseError?.(controller, reason));
      },
    } satisfies Dispatcher.DispatchController;
    handler.onRequestStart?.(controller, {});
    if (controller.aborted || behaviour.answer === 'hang') return true;
    timer = setTimeout(() => answer(handler, controller, options, behaviour), behaviour.after);
    return true;
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }

  override destroy(): Promise<void> {
    return Promise.resolve();
  }
}

function answer(
  handler: Dispatcher.DispatchHandler,
  controller: Dispatcher.DispatchController,
  { path: target, body }: Dispatcher.DispatchOptions,
  behaviour: Behaviour,
): void {
  const path = String(target).replace(/\?.*/, '');
  const send = (status: number, body: string, headers: Record<string, string> = {}): void => {
    handler.onResponseStart?.(controller, status, headers, '');
    if (behaviour.answer === 'trickle') return;
    handler.onResponseData?.(controller, Buffer.from(body));
    handler.onResponseEnd?.(controller, {});
  };
  const words = WORDS[path];
  if (words === undefined) throw new Error(`the simulated service does not know ${path}`);
  const [noStatus, no] = words.no;
  const headers = { 'retry-after': String(behaviour.retryAfter ?? 30) };
  const answers: Record<Behaviour['answer'], () => void> = {
    yes: () => {
      // A purchase is that of the code that was asked about.
      const code = new URLSearchParams(String(body ?? '')).get('purchase_code') ?? CODE;
      send(200, JSON.stringify(words.yes).replace(CODE, code));
    },
    trickle: () => send(200, ''),
    no: () => send(noStatus, JSON.stringify(no)),
    500: () => send(500, page('Oops')),
    page: () => send(200, page('Maintenance')),
    429: () => send(429, page('Slow down'), headers),
    reset: () => handler.onResponseError?.(controller, new Cut('cut')),
    hang: () => {},
  };
  answers[behaviour.answer]();
}

const page = (title: string): string => `<!DOCTYPE html><title>${title}</title>`;

class Cut extends Error {
  readonly code = 'ECONNRESET';
}

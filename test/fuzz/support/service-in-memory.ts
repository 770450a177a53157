import { Dispatcher } from 'undici';
import type { FuzzedAnswer } from './wire-answer.js';

/** What is sent: the parts of undici's own options that a test looks at. */
type Sent = Dispatcher.DispatchOptions;

/** Answers one request; an Error is a failure of the network. */
export type Answerer = (request: Sent) => FuzzedAnswer | Error;

/** An answer with a body of JSON. */
export const answering = (value: unknown, status = 200): FuzzedAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  bytes: Buffer.from(JSON.stringify(value)),
  cuts: [],
});

/**
 * The service without a network, at undici's own seam: a dispatcher that calls the handler as a
 * connection would, later and in pieces. Thousands of answers a second pass through it.
 */
export class ServiceInMemory extends Dispatcher {
  readonly #answer: Answerer;
  readonly requests: Sent[] = [];

  constructor(answer: Answerer) {
    super();
    this.#answer = answer;
  }

  /** How often a path was asked for. */
  count(path: string): number {
    return this.requests.filter((request) => request.path.split('?')[0] === path).length;
  }

  override dispatch(request: Sent, handler: Dispatcher.DispatchHandler): boolean {
    this.requests.push(request);
    queueMicrotask(() => deliver(this.#answer(request), handler));
    return true;
  }
}

function deliver(answer: FuzzedAnswer | Error, handler: Dispatcher.DispatchHandler): void {
  let aborted = false;
  const controller: Dispatcher.DispatchController = {
    get aborted() {
      return aborted;
    },
    paused: false,
    reason: null,
    abort() {
      aborted = true;
    },
    pause() {},
    resume() {},
  };
  handler.onRequestStart?.(controller, {});
  if (answer instanceof Error) {
    handler.onResponseError?.(controller, answer);
    return;
  }
  handler.onResponseStart?.(controller, answer.status, { ...answer.headers });
  for (const chunk of chunksOf(answer)) {
    if (aborted) break;
    handler.onResponseData?.(controller, chunk);
  }
  // A connection whose request was aborted reports that as an error, after all else.
  if (aborted) handler.onResponseError?.(controller, new Error('aborted'));
  else handler.onResponseEnd?.(controller, {});
}

function chunksOf({ bytes, cuts }: FuzzedAnswer): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const edges = [0, ...at, bytes.length];
  return edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge));
}

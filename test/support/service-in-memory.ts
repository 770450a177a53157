import { channel } from 'node:diagnostics_channel';
import { Dispatcher } from 'undici';

export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly bytes: Buffer;
  /** Where the bytes are cut into chunks. */
  readonly cuts?: readonly number[];
}

/** What the service does with a request. An `Error` is a network failure; a promise can stay pending. */
export type Reply = WireAnswer | Error | Promise<WireAnswer | Error>;

/** Answers one request; `n` counts the requests from 0. */
export type Answerer = (request: ServiceRequest, n: number) => Reply;

export const text = (body: string | Buffer, status = 200, headers = {}): WireAnswer => ({
  status,
  headers,
  bytes: Buffer.from(body as string),
});
export const json = (value: unknown, status = 200, headers = {}): WireAnswer =>
  text(JSON.stringify(value), status, { 'content-type': 'application/json', ...headers });
export const page = (status = 200, headers = {}): WireAnswer =>
  text('<!DOCTYPE html><html><body>Maintenance</body></html>', status, headers);
export const reset = (): Error => Object.assign(new Error('cut'), { code: 'ECONNRESET' });

function requestOf({ method, path: target, headers, body: sent }: Dispatcher.DispatchOptions) {
  const [path = '', search] = target.split('?');
  const query = new URLSearchParams(search);
  const body = String(sent ?? '');
  return {
    ...{ method: method as string, path, query, body, headers: headers as Record<string, string> },
    /** Whether the client took it back. */
    isAborted: false,
    /** A parameter, wherever it was sent. */
    parameter: (name: string): string | null =>
      query.get(name) ??
      new URLSearchParams(body.startsWith('{') ? JSON.parse(body) : body).get(name),
  };
}

export type ServiceRequest = ReturnType<typeof requestOf>;

// As undici itself reports requests: the sweep for secrets listens there.
const created = channel('undici:request:create');

/**
 * The service without a network: an undici dispatcher that calls the handler as a connection does,
 * later and in chunks. Answers arrive within microtasks, so no test has to wait for them.
 */
export class ServiceInMemory extends Dispatcher {
  readonly requests: ServiceRequest[] = [];
  readonly #answer: Answerer;
  readonly #isSwept: boolean;

  /** @param isSwept whether the sweep for secrets hears of the requests, as it does of undici's own. */
  constructor(answer: Answerer, { isSwept = true } = {}) {
    super();
    this.#answer = answer;
    this.#isSwept = isSwept;
  }

  /** How many requests there were, to one path or in all. */
  count(path?: string): number {
    return path === undefined
      ? this.requests.length
      : this.requests.filter((request) => request.path === path).length;
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    // undici itself gives handlers of the old interface, and an interceptor gets each in the new one.
    return 'onRequestStart' in handler
      ? this.#receive(options, handler)
      : this.compose(
          (dispatch) =>
            (...given) =>
              dispatch(...given),
        ).dispatch(options, handler);
  }

  #receive(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const request = requestOf(options);
    if (this.#isSwept && created.hasSubscribers) {
      created.publish({ request: { path: options.path, body: Buffer.from(request.body) } });
    }
    const reply = (): Reply => this.#answer(request, this.requests.push(request) - 1);
    const connection = new Connection(request, handler);
    queueMicrotask(() => connection.run(reply));
    return true;
  }
}

class Connection {
  readonly #request: ServiceRequest;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #controller: Dispatcher.DispatchController;
  #isOver = false;

  constructor(request: ServiceRequest, handler: Dispatcher.DispatchHandler) {
    this.#request = request;
    this.#handler = handler;
    this.#controller = {
      get aborted() {
        return request.isAborted;
      },
      paused: false,
      reason: null,
      abort: (reason) => this.#abort(reason),
      pause() {},
      resume() {},
    };
  }

  run(reply: () => Reply): void {
    this.#handler.onRequestStart?.(this.#controller, {});
    // undici does not send what was aborted before it had a connection.
    if (this.#request.isAborted) return;
    const answer = reply();
    if (answer instanceof Promise) void answer.then((late) => this.#deliver(late));
    else this.#deliver(answer);
  }

  /** As undici does: a request that is aborted ends with an error, after all else. */
  #abort(reason: Error): void {
    if (this.#request.isAborted || this.#isOver) return;
    this.#request.isAborted = true;
    queueMicrotask(() => this.#handler.onResponseError?.(this.#controller, reason));
  }

  #deliver(answer: WireAnswer | Error): void {
    if (this.#request.isAborted) return;
    if (answer instanceof Error) {
      this.#isOver = true;
      this.#handler.onResponseError?.(this.#controller, answer);
      return;
    }
    this.#handler.onResponseStart?.(this.#controller, answer.status, { ...answer.headers });
    for (const chunk of chunksOf(answer)) {
      if (this.#request.isAborted) return;
      this.#handler.onResponseData?.(this.#controller, chunk);
    }
    if (this.#request.isAborted) return;
    this.#isOver = true;
    this.#handler.onResponseEnd?.(this.#controller, {});
  }
}

function chunksOf({ bytes, cuts = [] }: WireAnswer): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const edges = [0, ...at, bytes.length];
  return edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge));
}

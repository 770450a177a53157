import type { Dispatcher } from 'undici';
import type { Deadline, EndListener } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import { networkFailure } from './failure.js';
import { WITHOUT_ANSWER } from './meanings.js';

/** One answer, read whole. */
export interface WireAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Buffer;
}

type Headers = Record<string, string | string[] | undefined>;

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

/**
 * Takes in one answer. Written on undici's `dispatch`, below its `request`: the size is counted as
 * the body comes in, a redirect is refused before its body is read, and no stream is built.
 */
export class Exchange implements Dispatcher.DispatchHandler, EndListener {
  readonly #what: string;
  readonly #maxBytes: number;
  readonly #resolve: (answer: WireAnswer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #deadline: Deadline;
  #controller: Dispatcher.DispatchController | undefined;
  #failure: unknown;
  #over = false;
  #status = 0;
  #retryAfter: string | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(
    what: string,
    maxBytes: number,
    deadline: Deadline,
    resolve: (answer: WireAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#what = what;
    this.#maxBytes = maxBytes;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#deadline = deadline;
    deadline.listen(this);
  }

  /** The deadline of the call has ended, or its caller has left. */
  onEnd(reason: unknown): void {
    this.#fail(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController, context?: unknown): void {
    // The call can have ended while the request was still waiting for a connection.
    if (this.#over) controller.abort(new Error('the call has ended'));
    else if (hasFollowed(context)) {
      // Nothing is sent to the other host yet.
      this.#controller = controller;
      this.#refuseRedirect('by the dispatcher');
    } else this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
  ): void {
    if (status < 200) return;
    this.#status = status;
    this.#retryAfter = single(headers['retry-after']);
    const encoding = single(headers['content-encoding']) ?? 'identity';
    if (status >= 300 && status < 400) {
      this.#refuseRedirect(`HTTP ${status}`);
    } else if (encoding.trim().toLowerCase() !== 'identity' && encoding.trim() !== '') {
      this.#leaveUnread('the answer is compressed, although that was not asked for');
    } else if (Number(single(headers['content-length'])) > this.#maxBytes) {
      this.#tooLarge();
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) this.#tooLarge();
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#over) return;
    this.#finish();
    const [first] = this.#chunks;
    this.#resolve({
      status: this.#status,
      retryAfter: this.#retryAfter,
      body: this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks),
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#over) return;
    this.#finish();
    this.#reject(networkFailure(this.#what, error));
  }

  #refuseRedirect(how: string): void {
    this.#refuse(
      `was redirected (${how}), and redirects are never followed; check the URL that was configured`,
    );
  }

  #tooLarge(): void {
    this.#leaveUnread(
      `the answer is larger than ${this.#maxBytes} bytes; raise "maxResponseBytes" if it should be`,
    );
  }

  /**
   * A body that cannot be read. Of an answer that says "not now" the status and the `Retry-After` are
   * enough: it must not end in another exception, or without the pause that was asked for.
   */
  #leaveUnread(problem: string): void {
    if (this.#status !== 429 && this.#status < 500) {
      this.#refuse(problem);
      return;
    }
    this.#chunks = [];
    this.#finish();
    this.#resolve({ status: this.#status, retryAfter: this.#retryAfter, body: Buffer.alloc(0) });
    this.#controller?.abort(new Error('the answer is known'));
  }

  #refuse(problem: string): void {
    this.#fail(new MarketgateError(WITHOUT_ANSWER.notRead, `${this.#what}: ${problem}`));
  }

  #fail(reason: unknown): void {
    if (this.#over) return;
    this.#failure = reason;
    this.#finish();
    this.#chunks = [];
    this.#reject(this.#failure);
    this.#controller?.abort(new Error('the call has ended'));
  }

  #finish(): void {
    this.#over = true;
    this.#deadline.unlisten(this);
  }
}

/** Whether a redirect interceptor of undici has followed one: it tells where it was before. */
const hasFollowed = (context: unknown): boolean => {
  const history: unknown = (context as { history?: unknown } | undefined)?.history;
  return Array.isArray(history) && history.length > 0;
};

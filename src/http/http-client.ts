import { checkSignal, Deadline } from '../deadline.js';
import {
  failedFor,
  printUnderNodeDebug,
  type RequestMessage,
  requestChannel,
} from '../diagnostics.js';
import type { MarketgateError } from '../errors.js';
import { Breaker } from './breaker.js';
import { Failure, failureOf, unavailable } from './failure.js';
import { type JsonResponse, parseJson } from './response.js';
import type { ClientSettings } from './settings.js';
import { nameOf, Transport, type WireRequest } from './transport.js';

export interface HttpRequest<T> extends WireRequest {
  /** Whether it is the probe itself: then no other one is sent when it fails. */
  readonly isProbe?: boolean;
  /** Parses the response, or throws a {@link MarketgateError}. */
  readonly parse: (response: JsonResponse) => T;
}

export interface HttpCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds of the timeout that have elapsed. */
  readonly elapsed?: number;
}

/** HTTP statuses that say nothing about the input, so that the same request can succeed a moment later. */
const REPEATED = ['HTTP_502', 'HTTP_503', 'HTTP_504'];
/** Milliseconds before the first retry, and the most before a later one. */
const FIRST_WAIT = 100;
const MAX_WAIT = 2000;
/** Milliseconds that the probe has, and the most of a call's time. */
const PROBE_TIME = 3000;
const PROBE_SHARE = 0.4;
/** How much earlier it is sent for a call that hangs, so that it is answered before the call's time is up. */
const PROBE_LEAD = 1.25;

/**
 * HTTP for both clients: {@link HttpClient.within} limits the time of a call, and {@link HttpClient.send} sends its requests,
 * with retries.
 *
 * An answer goes this way: undici or a `fetch` (senders.ts); bytes, within the limit and decompressed (transport.ts); text by its
 * charset, then JSON (response.ts); what the endpoint says, by the body first (`parse`, in clients/); the fields of the
 * documented shape (model/). Where there is no answer, failure.ts says why, and breaker.ts what that means for other calls.
 */
export class HttpClient {
  readonly #transport: Transport;
  readonly #breaker: Breaker;
  readonly #calls = new Set<Deadline>();
  readonly #probeTime: number;
  #isClosed = false;

  /** @param probe makes the request that is the same for all visitors: how it ends shows how the service is. */
  constructor(
    private readonly settings: ClientSettings,
    private readonly probe: () => HttpRequest<unknown> | Promise<HttpRequest<unknown>>,
  ) {
    printUnderNodeDebug();
    this.#transport = new Transport(settings);
    this.#probeTime = Math.min(PROBE_TIME, settings.timeout * PROBE_SHARE);
    this.#breaker = new Breaker(settings.timer, () => this.#sendProbe());
  }

  /**
   * Runs one call, which can send several requests, within the timeout. The deadline also ends when the
   * client is closed.
   * @param name names the call, as in "GET /api/items/all".
   */
  async within<T>(
    name: string,
    { signal, elapsed = 0 }: HttpCallOptions,
    call: (deadline: Deadline) => Promise<T>,
    timeout = this.settings.timeout,
  ): Promise<T> {
    if (signal !== undefined) checkSignal(signal);
    this.throwIfClosed();
    const exceeded = (): MarketgateError => exceededError(name, timeout, deadline);
    const deadline = new Deadline(timeout - elapsed, exceeded, signal);
    this.#calls.add(deadline);
    try {
      return await call(deadline);
    } catch (error) {
      // Also where the caller has left while the probe was waited for.
      if (deadline.isAbortedByCaller) deadline.throwIfAborted();
      throw error;
    } finally {
      this.#calls.delete(deadline);
      deadline.dispose();
    }
  }

  /** @throws MarketgateError `service_unavailable`, after {@link close}. */
  throwIfClosed(): void {
    if (this.#isClosed) throw closedError();
  }

  /** The error of a call that the breaker would not let through. */
  refusal(name: string): MarketgateError | undefined {
    return this.#breaker.refusal(name);
  }

  /**
   * Sends the request, with retries where they are safe, and parses the response.
   * @throws MarketgateError, the error of the app's own `fetch`, or the reason of the caller's aborted signal.
   */
  async send<T>(request: HttpRequest<T>, deadline: Deadline): Promise<T> {
    const breaker = this.#breaker;
    const enteredAt = breaker.enter(nameOf(request));
    const pause = deadline.remaining - this.#probeTime * PROBE_LEAD;
    const hangs = request.isProbe ? undefined : setTimeout(() => void breaker.probe(), pause);
    try {
      const answer = await this.#sendWithRetries(request, deadline);
      breaker.answered(enteredAt);
      return answer;
    } catch (error) {
      // Where the caller has left, nothing is known about the service.
      if (!deadline.isAbortedByCaller) {
        if (request.isProbe) void breaker.note(Promise.reject(error));
        await breaker.failed(error, enteredAt, deadline);
      }
      throw error;
    } finally {
      clearTimeout(hangs);
    }
  }

  async #sendWithRetries<T>(request: HttpRequest<T>, deadline: Deadline): Promise<T> {
    const retries = request.isRepeatable ? this.settings.retries : 0;
    for (let n = 0; ; n++) {
      deadline.throwIfAborted();
      deadline.isSent = true;
      try {
        return await this.#sendOnce(request, n, n === retries, deadline);
      } catch (error) {
        const pause = waitBefore(n);
        const canRetry = n < retries && pause < deadline.remaining && isWorthRetrying(error);
        if (!canRetry || this.#breaker.isOpen) throw error;
        await deadline.wait(pause);
        // Other calls can have opened the breaker meanwhile.
        if (this.#breaker.isOpen) throw error;
      }
    }
  }

  /** Sends the request once. All but the last have half of the time that is left, so that a retry can follow a hang. */
  async #sendOnce<T>(
    request: HttpRequest<T>,
    n: number,
    isLast: boolean,
    deadline: Deadline,
  ): Promise<T> {
    const name = nameOf(request);
    const time = isLast ? Number.POSITIVE_INFINITY : deadline.remaining / 2;
    const part = new Deadline(time, () => exceededError(name, time, deadline), deadline);
    const { method, path: endpoint } = request;
    const startedAt = performance.now();
    let ending: Partial<RequestMessage> = {};
    try {
      const response = await this.#transport.send(request, part);
      return request.parse(parseJson(name, response, this.settings.clock()));
    } catch (error) {
      const isAborted = deadline.isAbortedByCaller || this.#isClosed;
      ending = isAborted ? { aborted: true } : failedFor(error);
      throw error;
    } finally {
      part.dispose();
      if (requestChannel.hasSubscribers) {
        const durationMs = performance.now() - startedAt;
        const message: RequestMessage = { method, endpoint, attempt: n, ...ending, durationMs };
        requestChannel.publish(message);
      }
    }
  }

  #sendProbe(): Promise<unknown> {
    const send = async (deadline: Deadline): Promise<unknown> => {
      const request = await deadline.race(Promise.resolve().then(this.probe));
      deadline.isSent = true;
      return this.#sendOnce(request, 0, true, deadline);
    };
    return this.within('the probe', {}, send, this.#probeTime);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const call of [...this.#calls]) call.abort(closedError());
    return this.#transport.close();
  }
}

/** Whether a request has failed by what says nothing about its input: no connection, no answer in time, HTTP 502, 503 or 504. */
function isWorthRetrying(error: unknown): boolean {
  const failure = failureOf(error);
  if (failure?.kind !== 'down' || (error as MarketgateError).retryAfter !== undefined) return false;
  return !failure.code.startsWith('HTTP_') || REPEATED.includes(failure.code);
}

function exceededError(name: string, milliseconds: number, { isSent }: Deadline): MarketgateError {
  const time = `within ${Math.round(milliseconds)} ms`;
  const problem = isSent
    ? `no answer ${time}; the service is slow or down, or "timeout" is too short`
    : `not sent ${time}; this process is too busy, or a function given as "apiKey" does not settle`;
  return unavailable(`${name}: ${problem}`, new Failure(isSent ? 'TIMEOUT' : 'NOT_SENT'));
}

const closedError = (): MarketgateError =>
  unavailable('the call was ended: this client was closed', new Failure('CLOSED'));

/** Doubles with each retry, from 0 on. The jitter keeps the processes of a fleet from retrying at once. */
function waitBefore(retry: number): number {
  const longest = Math.min(FIRST_WAIT * 2 ** retry, MAX_WAIT);
  return longest * (0.5 + Math.random() / 2);
}

import { checkSignal, Deadline, LightSignal } from '../deadline.js';
import { requestChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import type { ClientSettings } from './client-options.js';
import { Breaker, type CallEnd, parseRetryAfter, RetryAfterGate, RetryLimit } from './gates.js';
import { decode, isTransient, type JsonResponse } from './response.js';
import { nameOf, Transport, type WireRequest, type WireResponse } from './transport.js';

export interface HttpRequest<T> extends WireRequest {
  /** Whether the request can be sent again safely. */
  readonly repeatable: boolean;
  /** Parses the response, or throws a {@link MarketgateError}. */
  readonly parse: (response: JsonResponse) => T | Promise<T>;
}

export interface HttpCallOptions {
  readonly signal?: AbortSignal | LightSignal;
  /** Milliseconds of the timeout that have elapsed. */
  readonly elapsed?: number;
}

/** Milliseconds before the first retry, and the most before a later one. */
const FIRST_WAIT = 100;
const MAX_WAIT = 2000;

/** HTTP for both clients: deadline, retries, retry-after gate and breaker. */
export class HttpClient {
  readonly #transport: Transport;
  readonly #gate: RetryAfterGate;
  readonly #breaker: Breaker;
  readonly #calls = new Set<Deadline>();
  readonly #retries = new RetryLimit();
  #isClosed = false;

  constructor(private readonly settings: ClientSettings) {
    this.#transport = new Transport(settings);
    this.#gate = new RetryAfterGate(settings.timer);
    this.#breaker = new Breaker(settings.timer);
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
  ): Promise<T> {
    if (signal !== undefined && !(signal instanceof LightSignal)) checkSignal(signal);
    const { timeout } = this.settings;
    const exceeded = (): MarketgateError =>
      new MarketgateError(
        'service_unavailable',
        `${name}: no answer within ${Math.round(timeout)} ms; the service is slow or down, or "timeout" is too short`,
      );
    const deadline = new Deadline(timeout - elapsed, exceeded, signal, this.#calls);
    if (this.#isClosed) deadline.abort(closedError());
    else if (elapsed >= timeout) deadline.abort(exceeded());
    try {
      return await call(deadline);
    } finally {
      deadline.dispose();
    }
  }

  /**
   * Sends the request, with retries where they are safe, and parses the response.
   * @throws MarketgateError, or the reason of the caller's aborted signal.
   */
  async send<T>(request: HttpRequest<T>, deadline: Deadline): Promise<T> {
    if (deadline.aborted) throw deadline.reason;
    const name = nameOf(request);
    this.#gate.check(name);
    const isProbe = this.#breaker.enter(name);
    const retries = request.repeatable ? this.settings.retries : 0;
    let end: CallEnd = 'answered';
    let failure: unknown;
    let hasSlot = false;
    let isUsable = false;
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          const result = await this.#sendOnce(request, attempt, deadline);
          isUsable = true;
          return result;
        } catch (error) {
          const wait = waitBefore(attempt);
          const canRetry = isRetryable(error) && attempt < retries && !this.#breaker.isOpen;
          if (!canRetry || wait >= deadline.remaining) throw error;
          await deadline.wait(wait);
          if (!hasSlot) await this.#retries.acquire(deadline);
          hasSlot = true;
          // Other calls can have closed the gate or opened the breaker meanwhile.
          this.#gate.check(name);
          if (this.#breaker.isOpen) throw error;
        }
      }
    } catch (error) {
      const isUnsent = isMarketgateError(error) && this.#gate.isRefusal(error);
      if (deadline.isAbortedByCaller || !isMarketgateError(error) || isUnsent) end = 'unknown';
      else if (error.code === 'service_unavailable') end = 'failed';
      failure = error;
    } finally {
      if (hasSlot) this.#retries.release(isUsable);
      this.#breaker.leave(isProbe, end);
    }
    // Only now, because this call can have opened the breaker.
    throw end === 'failed' ? this.#withRetryAfter(failure as MarketgateError) : failure;
  }

  /** Adds the seconds for which the gate or the breaker lets no call through. */
  #withRetryAfter(error: MarketgateError): MarketgateError {
    const retryAfter = Math.max(this.#gate.retryAfter, this.#breaker.retryAfter ?? 0);
    if (retryAfter === 0 || error.retryAfter !== undefined || this.#isClosed) return error;
    const { code, message, cause } = error;
    return new MarketgateError(code, message, { cause, retryAfter });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#transport.close();
    for (const call of [...this.#calls]) call.abort(closedError());
    return closed;
  }

  async #sendOnce<T>(request: HttpRequest<T>, attempt: number, deadline: Deadline): Promise<T> {
    const startedAt = requestChannel.hasSubscribers ? performance.now() : undefined;
    let failure: unknown;
    const name = nameOf(request);
    // The gate can have been closed while the request was waiting for a connection.
    const check = (): void => this.#gate.check(name);
    try {
      const response = await this.#transport.send(request, deadline, check);
      try {
        const { isLarge, parseJson } = decode(response.body);
        if (isLarge) await deadline.yield();
        return await request.parse({ name, status: response.status, ...parseJson() });
      } catch (error) {
        throw this.#backOff(response, error);
      }
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      if (startedAt !== undefined) {
        const { method, path: endpoint } = request;
        const durationMs = performance.now() - startedAt;
        const isAborted = failure !== undefined && deadline.isAbortedByCaller;
        const code = isMarketgateError(failure) && { code: failure.code };
        const outcome = isAborted ? { aborted: true } : code;
        requestChannel.publish({ method, endpoint, attempt, ...outcome, durationMs });
      }
    }
  }

  /** Closes the gate if the service asked for a backoff. Returns the error, then with `retryAfter`. */
  #backOff({ status, retryAfter, date }: WireResponse, error: unknown): unknown {
    // By the service's own clock, which can be minutes from this one.
    const now = Date.parse(date ?? '') || this.settings.clock();
    const seconds = parseRetryAfter(retryAfter, now);
    const isBackoff = status === 429 || (isTransient(status) && seconds !== undefined);
    if (!isBackoff || !isMarketgateError(error)) return error;
    const { code, message, cause } = error;
    return new MarketgateError(code, message, { cause, retryAfter: this.#gate.close(seconds) });
  }
}

const closedError = (): MarketgateError =>
  new MarketgateError('service_unavailable', 'the call was ended: this client was closed');

/** Whether a retry can succeed: the service failed, or was not reached, and asked for no backoff. */
const isRetryable = (error: unknown): boolean =>
  isMarketgateError(error) &&
  error.code === 'service_unavailable' &&
  error.retryAfter === undefined;

/** Doubles with each retry, from 0 on. The jitter keeps the processes of a fleet from retrying at once. */
function waitBefore(retry: number): number {
  const longest = Math.min(FIRST_WAIT * 2 ** retry, MAX_WAIT);
  return longest * (0.5 + Math.random() / 2);
}

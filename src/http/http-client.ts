import { checkSignal, Deadline } from '../deadline.js';
import { requestChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import type { ClientSettings } from './client-options.js';
import { Breaker, Probe, parseRetryAfter, RetryAfterGate, Turns } from './gates.js';
import { isTransient, type JsonResponse, parseJson } from './response.js';
import { nameOf, Transport, type WireRequest, type WireResponse } from './transport.js';

export interface HttpRequest<T> extends WireRequest {
  /** Whether a visitor has a say in the request, and so can make it fail. */
  readonly isVisitors: boolean;
  /** Parses the response, or throws a {@link MarketgateError}. */
  readonly parse: (response: JsonResponse) => T | Promise<T>;
}

export interface HttpCallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds of the timeout that have elapsed. */
  readonly elapsed?: number;
}

/** Milliseconds before the first retry, and the most before a later one. */
const FIRST_WAIT = 100;
const MAX_WAIT = 2000;
/** The most milliseconds that a probe takes. */
const PROBE_TIMEOUT = 3000;

/** Errors of calls that the service failed, and whether it is down, which their client finds out. */
export const failures = new WeakMap<object, () => Promise<boolean>>();

/** HTTP for both clients: deadline, retries, retry-after gate and breakers. */
export class HttpClient {
  readonly #transport: Transport;
  readonly #gate: RetryAfterGate;
  readonly #turns = new Turns();
  readonly #probe: Probe;
  readonly #breaker: Breaker;
  /** By path, of the endpoints that no visitor can make fail. One of them can hang alone. */
  readonly #endpointBreakers = new Map<string, Breaker>();
  readonly #calls = new Set<Deadline>();
  #isClosed = false;

  /** @param probe makes the request that finds out whether the service is down. */
  constructor(
    private readonly settings: ClientSettings,
    probe: () => HttpRequest<unknown> | Promise<HttpRequest<unknown>>,
  ) {
    const { timer } = settings;
    this.#transport = new Transport(settings);
    this.#gate = new RetryAfterGate(timer);
    this.#probe = new Probe(timer, () => this.#askWhetherDown(probe));
    this.#breaker = new Breaker(timer, () => this.#probe.isDown());
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
    if (signal !== undefined) checkSignal(signal);
    const { timeout } = this.settings;
    const exceeded = (): MarketgateError =>
      new MarketgateError(
        'service_unavailable',
        `${name}: no answer within ${Math.round(timeout)} ms; the service is slow or down, or "timeout" is too short`,
      );
    const deadline = new Deadline(timeout - elapsed, exceeded, signal);
    if (this.#isClosed) deadline.abort(closedError());
    else if (elapsed >= timeout) deadline.abort(exceeded());
    this.#calls.add(deadline);
    try {
      return await call(deadline);
    } finally {
      this.#calls.delete(deadline);
      deadline.dispose();
    }
  }

  /**
   * Sends the request, with retries where they are safe, and parses the response.
   * @throws MarketgateError, or the reason of the caller's aborted signal.
   */
  async send<T>(request: HttpRequest<T>, deadline: Deadline): Promise<T> {
    deadline.signal.throwIfAborted();
    const name = nameOf(request);
    this.#gate.check(name);
    const breakers = this.#breakersOf(request);
    const isDown = async (): Promise<boolean> => this.#breaker.isOpen || this.#probe.isDown();
    let trials: boolean[];
    try {
      trials = breakers.map((breaker) => breaker.enter(name));
    } catch (refusal) {
      failures.set(refusal as object, isDown);
      throw refusal;
    }
    const retries = request.repeatable ? this.settings.retries : 0;
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(request, attempt, deadline);
      if (outcome.isAnswer) for (const breaker of breakers) breaker.succeeded();
      if ('result' in outcome) return outcome.result;
      const { error, isFailure } = outcome;
      if (isFailure) {
        const noted = breakers.map((breaker, i) => breaker.failed(trials[i] as boolean));
        // A call that is to be repeated waits for what the probe says. That does not prolong it.
        await deadline.race(Promise.all(noted)).catch(() => {});
      }
      const isOpen = (): boolean => breakers.some((breaker) => breaker.isOpen);
      const wait = waitBefore(attempt);
      const canRetry = isRetryable(error) && attempt < retries && wait < deadline.remaining;
      if (canRetry && !isOpen()) {
        await deadline.wait(wait);
        // Other calls can have closed the gate or opened the breaker meanwhile.
        this.#gate.check(name);
        if (!isOpen()) continue;
      }
      if (!isFailure) throw error;
      const failure = this.#withRetryAfter(error as MarketgateError, breakers);
      failures.set(failure, isDown);
      throw failure;
    }
  }

  close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#transport.close();
    for (const call of [...this.#calls]) call.abort(closedError());
    return closed;
  }

  #breakersOf({ isVisitors, path }: HttpRequest<unknown>): Breaker[] {
    if (isVisitors) return [this.#breaker];
    const own =
      this.#endpointBreakers.get(path) ?? new Breaker(this.settings.timer, async () => true);
    this.#endpointBreakers.set(path, own);
    return [this.#breaker, own];
  }

  /** Adds the seconds for which the gate or a breaker lets no call through. */
  #withRetryAfter(error: MarketgateError, breakers: readonly Breaker[]): MarketgateError {
    const retryAfter = Math.max(
      this.#gate.retryAfter,
      ...breakers.map((breaker) => breaker.retryAfter ?? 0),
    );
    if (retryAfter === 0 || error.retryAfter !== undefined) return error;
    const { code, message, cause } = error;
    return new MarketgateError(code, message, { cause, retryAfter });
  }

  /** Whether the probe could not reach the service, timed out or was answered with 5xx. Never rejects. */
  async #askWhetherDown(
    probe: () => HttpRequest<unknown> | Promise<HttpRequest<unknown>>,
  ): Promise<boolean> {
    // A service that asks to be left alone is there.
    if (this.#gate.retryAfter > 0) return false;
    const elapsed = Math.max(0, this.settings.timeout - PROBE_TIMEOUT);
    try {
      return await this.within('probe', { elapsed }, async (deadline) => {
        const request = await deadline.race(Promise.resolve().then(probe));
        return (await this.#attempt(request, 0, deadline, true)).isFailure;
      });
    } catch {
      return false;
    }
  }

  /** Sends the request once. Never rejects. */
  async #attempt<T>(
    request: HttpRequest<T>,
    attempt: number,
    deadline: Deadline,
    isProbe = false,
  ): Promise<Outcome<T>> {
    const startedAt = requestChannel.hasSubscribers ? performance.now() : undefined;
    const name = nameOf(request);
    let status: number | undefined;
    let outcome: Outcome<T>;
    try {
      // Requests that hang keep nobody from finding out whether the service does.
      if (!isProbe) await this.#turns.take(deadline);
      try {
        // It can have been closed while the request was waiting.
        this.#gate.check(name);
        const response = await this.#transport.send(request, deadline);
        ({ status } = response);
        const parsed = { name, status, ...parseJson(response.body) };
        const result = await this.#parse(request, parsed, response);
        outcome = { result, isAnswer: true, isFailure: false };
      } finally {
        if (!isProbe) this.#turns.giveBack();
      }
    } catch (error) {
      outcome = { error, ...this.#meaningOf(error, status, deadline) };
    }
    if (startedAt !== undefined) {
      const { method, path: endpoint } = request;
      const durationMs = performance.now() - startedAt;
      const failure = 'error' in outcome ? outcome.error : undefined;
      const isAborted = failure !== undefined && (deadline.isAbortedByCaller || this.#isClosed);
      const code = isMarketgateError(failure) && { code: failure.code };
      const ending = isAborted ? { aborted: true } : code;
      requestChannel.publish({ method, endpoint, attempt, ...ending, durationMs });
    }
    return outcome;
  }

  async #parse<T>(
    request: HttpRequest<T>,
    parsed: JsonResponse,
    response: WireResponse,
  ): Promise<T> {
    try {
      return await request.parse(parsed);
    } catch (error) {
      throw this.#backOff(response, error);
    }
  }

  /** What an error says about the service: nothing, where the caller has left, the gate is closed or it was a 429. */
  #meaningOf(error: unknown, status: number | undefined, { isAbortedByCaller }: Deadline) {
    if (!isMarketgateError(error) || isAbortedByCaller || this.#isClosed) return NOTHING;
    if (error.code !== 'service_unavailable') return { isAnswer: true, isFailure: false };
    const isUnsent = status === undefined && error.retryAfter !== undefined;
    return { isAnswer: false, isFailure: !isUnsent && (status === undefined || status >= 500) };
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

/** How one request ended, and whether the service answered it or failed. */
type Outcome<T> = ({ readonly result: T } | { readonly error: unknown }) & {
  readonly isAnswer: boolean;
  readonly isFailure: boolean;
};

const NOTHING = { isAnswer: false, isFailure: false };

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

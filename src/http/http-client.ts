import type { Attempt } from '../attempts/attempts.js';
import { checkSignal, Deadline, type Ending } from '../deadline.js';
import { requestChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError, withRetryAfter } from '../errors.js';
import type { ClientSettings } from './client-options.js';
import { isAboutService, notSent } from './failure.js';
import { Breaker, parseRetryAfter, RetryAfterGate, type ServiceState, Turns } from './gates.js';
import { isTransient, type JsonResponse, parseJson } from './response.js';
import { nameOf, Transport, type WireRequest, type WireResponse } from './transport.js';

export interface HttpRequest<T> extends WireRequest {
  /** Parses the response, or throws a {@link MarketgateError}. */
  readonly parse: (response: JsonResponse) => T;
}

export interface HttpCallOptions {
  readonly signal?: AbortSignal | Ending;
  /** Milliseconds of the timeout that have elapsed. */
  readonly elapsed?: number;
  /** What counts the requests, for the guess limit. */
  readonly attempt?: Attempt;
}

/** Milliseconds before the first retry, and the most before a later one. */
const FIRST_WAIT = 100;
const MAX_WAIT = 2000;
/** The most milliseconds that a probe takes. */
const PROBE_TIMEOUT = 3000;

/** Errors of calls that the service failed or answered, and how their client finds out how it is otherwise. */
const serviceStates = new WeakMap<object, () => Promise<ServiceState>>();

/**
 * Whether an error of a call means that the service is down: it could not be reached, timed out or answered 5xx, and the
 * client's probe (account/details, the same for all visitors, asked at most every few seconds) fails too. False for
 * every other error, also for a 429 and the backoff after it, and for what this process lacks.
 */
export const isOutage = async (error: unknown): Promise<boolean> =>
  isUnavailable(error) && isAboutService(error) && (await serviceStates.get(error)?.()) === 'down';

/** Notes that the call of an error had an answer to what was asked: the error is no outage. */
export function noteAnswered(error: unknown): void {
  if (isMarketgateError(error)) serviceStates.set(error, async () => 'up');
}

/**
 * Whether an error is about what the visitor sent: the service has answered that, or answers the client's probe as
 * documented.
 */
export const isServing = async (error: unknown): Promise<boolean> =>
  (await serviceStates.get(Object(error))?.()) === 'up';

/** HTTP for both clients: deadline, retries, retry-after gate and breaker. */
export class HttpClient {
  readonly #transport: Transport;
  readonly #gate: RetryAfterGate;
  readonly #breaker: Breaker;
  readonly #turns = new Turns();
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
    this.#breaker = new Breaker(timer, () => this.#probe(probe));
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
    if (this.#isClosed) throw closedError();
    const exceeded = (): MarketgateError =>
      deadline.isSent && !this.#transport.isLookingUp
        ? new MarketgateError(
            'service_unavailable',
            `${name}: no answer within ${Math.round(timeout)} ms; the service is slow or down, or "timeout" is too short`,
          )
        : notSent(name, timeout);
    const deadline = new Deadline(timeout - elapsed, exceeded, signal);
    this.#calls.add(deadline);
    try {
      return await call(deadline);
    } finally {
      this.#calls.delete(deadline);
      deadline.dispose();
    }
  }

  /** @throws MarketgateError `service_unavailable`, where a request would not be sent, without the cost of a call. */
  check(name: string): void {
    this.#gate.check(name);
    this.#breaker.check(name);
  }

  /** Runs a call of one request. */
  call<T>(request: HttpRequest<T>, options: HttpCallOptions): Promise<T> {
    const { attempt } = options;
    return this.within(nameOf(request), options, (deadline) =>
      this.send(request, deadline, attempt),
    );
  }

  /**
   * Sends the request, with retries where they are safe, and parses the response.
   * @throws MarketgateError, or the reason of the caller's aborted signal.
   */
  async send<T>(request: HttpRequest<T>, deadline: Deadline, attempt?: Attempt): Promise<T> {
    try {
      return await this.#sendWithRetries(request, deadline, attempt);
    } catch (error) {
      // A service that asks to be left alone is there.
      const state = async (): Promise<ServiceState> =>
        this.#gate.retryAfter > 0 ? 'unclear' : this.#breaker.state();
      if (isMarketgateError(error) && !deadline.isAbortedByCaller) serviceStates.set(error, state);
      throw error;
    }
  }

  close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#transport.close();
    for (const call of [...this.#calls]) call.abort(closedError());
    return closed;
  }

  async #sendWithRetries<T>(
    request: HttpRequest<T>,
    deadline: Deadline,
    counted?: Attempt,
  ): Promise<T> {
    const name = nameOf(request);
    const retries = request.repeatable ? this.settings.retries : 0;
    const breaker = this.#breaker;
    this.#gate.check(name);
    breaker.enter(name);
    await counted?.reserve(deadline);
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await this.#turns.run(deadline, () =>
          this.#attempt(request, attempt, deadline, counted),
        );
        breaker.succeeded();
        return answer;
      } catch (error) {
        // Where the caller has left, or the service asks to be left alone, nothing is known about it.
        if (!isMarketgateError(error) || deadline.isAbortedByCaller) throw error;
        if (this.#isClosed || error.retryAfter) throw error;
        if (!isUnavailable(error)) {
          breaker.succeeded();
          throw error;
        }
        // Waits for the probe, but not past the deadline.
        await deadline.race(breaker.failed()).catch(() => {});
        const wait = waitBefore(attempt);
        const canRetry = attempt < retries && wait < deadline.remaining && !breaker.isOpen;
        if (canRetry) await deadline.wait(wait);
        // Other calls can have opened the breaker meanwhile.
        if (!canRetry || breaker.isOpen || (await counted?.reserve(deadline)) === false) {
          const retryAfter = Math.max(this.#gate.retryAfter, breaker.retryAfter);
          throw retryAfter > 0 ? withRetryAfter(error, retryAfter) : error;
        }
      }
    }
  }

  /** Sends the probe. Never rejects. */
  async #probe(
    probe: () => HttpRequest<unknown> | Promise<HttpRequest<unknown>>,
  ): Promise<ServiceState> {
    let isSent = false;
    try {
      const send = async (deadline: Deadline): Promise<void> => {
        const request = await deadline.race(Promise.resolve().then(probe));
        isSent = true;
        // Without a turn: requests that hang keep nobody from finding out whether the service does.
        await this.#attempt(request, 0, deadline);
      };
      await this.within('probe', {}, send, Math.min(PROBE_TIMEOUT, this.settings.timeout));
      return 'up';
    } catch (error) {
      const isFailure = isSent && isUnavailable(error) && isAboutService(error);
      return isFailure && !error.retryAfter && !this.#isClosed ? 'down' : 'unclear';
    }
  }

  /** Sends the request once. */
  async #attempt<T>(
    request: HttpRequest<T>,
    attempt: number,
    deadline: Deadline,
    counted?: Attempt,
  ): Promise<T> {
    // It can have been closed while the request was waiting. What is not sent is not reported as a request.
    this.#gate.check(nameOf(request));
    if (counted) counted.isAsked = true;
    const startedAt = requestChannel.hasSubscribers ? performance.now() : undefined;
    let failure: unknown;
    try {
      const response = await this.#transport.send(request, deadline);
      return this.#parse(request, response);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      if (startedAt !== undefined) {
        const { method, path: endpoint } = request;
        const durationMs = performance.now() - startedAt;
        const isAborted = failure !== undefined && (deadline.isAbortedByCaller || this.#isClosed);
        const code = isMarketgateError(failure) && { code: failure.code };
        const ending = isAborted ? { aborted: true } : code;
        requestChannel.publish({ method, endpoint, attempt, ...ending, durationMs });
      }
    }
  }

  /** Closes the gate if the service asked for a backoff; the error then has its `retryAfter`. */
  #parse<T>(request: HttpRequest<T>, { status, retryAfter, date, body }: WireResponse): T {
    try {
      return request.parse(parseJson(nameOf(request), status, body));
    } catch (error) {
      // By the service's own clock, which can be minutes from this one.
      const now = Date.parse(date ?? '') || this.settings.clock();
      const seconds = parseRetryAfter(retryAfter, now);
      const isBackoff = status === 429 || (isTransient(status) && Boolean(seconds));
      if (!isBackoff || !isMarketgateError(error)) throw error;
      throw withRetryAfter(error, this.#gate.close(seconds));
    }
  }
}

const closedError = (): MarketgateError =>
  new MarketgateError('service_unavailable', 'the call was ended: this client was closed');

const isUnavailable = (error: unknown): error is MarketgateError =>
  isMarketgateError(error) && error.code === 'service_unavailable';

/** Doubles with each retry, from 0 on. The jitter keeps the processes of a fleet from retrying at once. */
function waitBefore(retry: number): number {
  const longest = Math.min(FIRST_WAIT * 2 ** retry, MAX_WAIT);
  return longest * (0.5 + Math.random() / 2);
}

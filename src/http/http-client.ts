import type { Attempt } from '../attempts/attempts.js';
import { checkSignal, Deadline } from '../deadline.js';
import { requestChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError, withRetryAfter } from '../errors.js';
import { latest } from '../latest.js';
import type { ClientSettings } from './client-options.js';
import { isAboutService, notSent } from './failure.js';
import { backoffOf, Health, type ServiceState } from './health.js';
import { isTransient, type JsonResponse, parseJson } from './response.js';
import { nameOf, Transport, type WireRequest, type WireResponse } from './transport.js';
import { Turns } from './turns.js';

export interface HttpRequest<T> extends WireRequest {
  /** Whether it can be sent again safely. */
  readonly isRepeatable: boolean;
  /** Whether it is the same for all visitors: then how it ends shows how the service is. */
  readonly isNeutral?: boolean;
  /** Parses the response, or throws a {@link MarketgateError}. */
  readonly parse: (response: JsonResponse) => T;
}

export interface HttpCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds of the timeout that have elapsed. */
  readonly elapsed?: number;
  /** What counts the requests, for the guess limit. */
  readonly attempt?: Attempt;
}

/** How one request ended. `status` is absent where there was no response, `backoff` (seconds) where it asked for none. */
type Outcome<T> =
  | { readonly answer: T }
  | { readonly error: unknown; readonly status?: number; readonly backoff?: number | undefined };

/** What one request needs besides itself. */
interface Sending {
  /** Its number among the requests of the call, from 0 on. */
  readonly n: number;
  /** Whether no other request of the call can follow. */
  readonly isLast: boolean;
  readonly needsNewConnection: boolean;
  /** Of the call. */
  readonly deadline: Deadline;
  readonly onSend?: () => void;
}

/** HTTP statuses that say nothing about the input, so that the same request can succeed a moment later. */
const REPEATED = [502, 503, 504];
/** Milliseconds before the first retry, and the most before a later one. */
const FIRST_WAIT = 100;
const MAX_WAIT = 2000;
/** The most milliseconds that the neutral question takes: also where the first address of the host leads nowhere. */
const NEUTRAL_TIMEOUT = 5000;
/** Milliseconds that an input rests for which the service asked to be left alone; and the most such inputs. */
const INPUT_REST = 10_000;
const MAX_RESTING = 1000;

/**
 * HTTP for both clients. {@link HttpClient.within} limits the time of a call, {@link HttpClient.send} sends its requests, with
 * retries, and {@link Health} decides what a failure means for the other calls.
 *
 * An answer goes this way: a connection or a `fetch` (connections.ts); bytes, within the limit and decompressed
 * (transport.ts); text by its charset, then JSON (response.ts); what the endpoint says, by the body first (`parse`, in
 * clients/); the fields of the documented shape (model/).
 */
export class HttpClient {
  readonly #transport: Transport;
  readonly #health: Health;
  readonly #turns = new Turns();
  readonly #calls = new Set<Deadline>();
  /** Inputs for which the service asked to be left alone. */
  readonly #resting = latest<string, { readonly error: unknown; readonly until: number }>(
    MAX_RESTING,
  );
  #isClosed = false;

  /** @param neutral - makes the request that shows how the service is, apart from any input. */
  constructor(
    private readonly settings: ClientSettings,
    private readonly neutral: () => HttpRequest<unknown> | Promise<HttpRequest<unknown>>,
  ) {
    this.#transport = new Transport(settings);
    this.#health = new Health(settings.timer, () => this.#askNeutral());
  }

  /**
   * Runs one call, which can send several requests, within the timeout. The deadline also ends when the
   * client is closed.
   * @param name - names the call, as in "GET /api/items/all".
   */
  async within<T>(
    name: string,
    { signal, elapsed = 0 }: HttpCallOptions,
    call: (deadline: Deadline) => Promise<T>,
    timeout = this.settings.timeout,
  ): Promise<T> {
    if (signal !== undefined) checkSignal(signal);
    if (this.#isClosed) throw closedError();
    const exceeded = (): MarketgateError => this.#exceeded(name, timeout, deadline);
    const deadline = new Deadline(timeout - elapsed, exceeded, signal);
    this.#calls.add(deadline);
    try {
      return await call(deadline);
    } catch (error) {
      // Also where the caller has left while it was being found out what a failure means.
      if (deadline.isAbortedByCaller) deadline.throwIfAborted();
      throw error;
    } finally {
      this.#calls.delete(deadline);
      deadline.dispose();
    }
  }

  /** @throws MarketgateError `service_unavailable`, where a request would not be sent, without the cost of a call. */
  check(name: string): void {
    this.#health.check(name);
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
    const name = nameOf(request);
    const retries = request.isRepeatable ? this.settings.retries : 0;
    const health = this.#health;
    this.#throwIfResting(request);
    await health.enter(name, deadline);
    await attempt?.reserve(deadline);
    const onSend = (): void => attempt?.onSend();
    for (let n = 0; ; n++) {
      const isLast = n === retries;
      // An auth_key works once, so it is not risked on a connection that may be dead.
      const needsNewConnection = !request.isRepeatable;
      const outcome = await this.#turns.run(deadline, async () => {
        await health.checkGate(name, deadline);
        return this.#sendOnce(request, { n, isLast, needsNewConnection, deadline, onSend });
      });
      if ('answer' in outcome) {
        health.succeeded();
        return outcome.answer;
      }
      const { error, status, backoff } = outcome;
      // Where the caller has left, nothing is known about the service.
      if (!isMarketgateError(error) || deadline.isAbortedByCaller || this.#isClosed) throw error;
      if (backoff !== undefined) {
        await this.#backOff(request, withRetryAfter(error, backoff), backoff, deadline, attempt);
        throw error;
      }
      if (error.code !== 'service_unavailable') {
        health.succeeded();
        throw error;
      }
      // Waits for the neutral question, but not past the deadline.
      if (!request.isNeutral) await deadline.race(health.failed()).catch(() => {});
      const pause = waitBefore(n);
      const isAboutInput = status !== undefined && !REPEATED.includes(status);
      const canRetry = !isLast && !isAboutInput && pause < deadline.remaining && !health.isOpen;
      if (canRetry) await deadline.wait(pause);
      // Other calls can have opened the breaker meanwhile.
      if (!canRetry || health.isOpen || (await attempt?.reserve(deadline)) === false) {
        const { retryAfter } = health;
        throw retryAfter > 0 ? withRetryAfter(error, retryAfter) : error;
      }
    }
  }

  /**
   * Whether the service is down, apart from any input: the neutral question fails as well, asked after this call, once for
   * all. False while the service asks to be left alone, because then it is there.
   */
  async isDown(): Promise<boolean> {
    return !this.#isClosed && (await this.#health.state()) === 'down';
  }

  /** Whether the service answers the neutral question, for callers that can wait. */
  async isUp(): Promise<boolean> {
    return (await this.#health.stateLater()) === 'up';
  }

  close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#transport.close();
    for (const call of [...this.#calls]) call.abort(closedError());
    return closed;
  }

  /**
   * The service asks to be left alone. If it does not answer the neutral question either, that holds for all calls. Else
   * it has only refused this input, which rests for a while, and counts as a failed attempt.
   */
  async #backOff(
    request: HttpRequest<unknown>,
    error: MarketgateError,
    seconds: number,
    deadline: Deadline,
    attempt: Attempt | undefined,
  ): Promise<void> {
    if (request.isNeutral) {
      this.#health.closeGate(seconds);
      return;
    }
    const isForAll = await deadline.race(this.#health.isToBeLeftAlone(seconds)).catch(() => true);
    if (isForAll) return;
    if (attempt) attempt.isRefused = true;
    const until = this.settings.timer() + INPUT_REST;
    this.#resting.set(inputOf(request), { error, until });
  }

  #throwIfResting(request: WireRequest): void {
    const resting = this.#resting.peek(inputOf(request));
    if (resting !== undefined && this.settings.timer() < resting.until) throw resting.error;
  }

  /** Asks the neutral question. Never rejects. */
  async #askNeutral(): Promise<ServiceState> {
    let isSent = false;
    const timeout = Math.min(NEUTRAL_TIMEOUT, this.settings.timeout);
    const ask = async (deadline: Deadline): Promise<Outcome<unknown>> => {
      const request = await deadline.race(Promise.resolve().then(this.neutral));
      isSent = true;
      // Without a turn: requests that hang keep nobody from finding out whether the service does.
      const last = { n: 0, isLast: true, needsNewConnection: true, deadline };
      return this.#sendOnce(request, last);
    };
    const outcome = await this.within('the question how the service is', {}, ask, timeout).catch(
      (error: unknown): Outcome<unknown> => ({ error }),
    );
    if ('answer' in outcome) return 'up';
    const { error, backoff } = outcome;
    if (backoff !== undefined) this.#health.closeGate(backoff);
    const isFailure =
      isMarketgateError(error) && error.code === 'service_unavailable' && isAboutService(error);
    return isSent && isFailure && backoff === undefined && !this.#isClosed ? 'down' : 'unclear';
  }

  /** Sends the request once. All but the last have half of the time that is left, so that a retry can follow a hang. */
  async #sendOnce<T>(request: HttpRequest<T>, sending: Sending): Promise<Outcome<T>> {
    const { n, isLast, needsNewConnection, deadline, onSend } = sending;
    const name = nameOf(request);
    const time = isLast ? Number.POSITIVE_INFINITY : deadline.remaining / 2;
    const part = new Deadline(time, () => this.#exceeded(name, time, deadline), deadline);
    const startedAt = requestChannel.hasSubscribers ? performance.now() : undefined;
    const onSending = (): void => {
      deadline.isSent = true;
      onSend?.();
    };
    const outcome = await this.#transport.send(request, part, needsNewConnection, onSending).then(
      (response) => this.#judge(request, response),
      (error: unknown): Outcome<T> => ({ error }),
    );
    part.dispose();
    if (startedAt !== undefined) this.#report(request, outcome, n, startedAt, deadline);
    return outcome;
  }

  /** What a response says; where it says nothing, whether it asks to be left alone. */
  #judge<T>(request: HttpRequest<T>, { status, header, body }: WireResponse): Outcome<T> {
    try {
      const json = parseJson(nameOf(request), status, body, header('content-type'));
      return { answer: request.parse(json) };
    } catch (error) {
      // By the service's own clock, which can be minutes from this one.
      const now = Date.parse(header('date') ?? '') || this.settings.clock();
      const isUnavailable = isMarketgateError(error) && isTransient(status);
      const backoff = isUnavailable ? backoffOf(status, header('retry-after'), now) : undefined;
      return { error, status, backoff };
    }
  }

  #report<T>(
    { method, path: endpoint }: WireRequest,
    outcome: Outcome<T>,
    attempt: number,
    startedAt: number,
    deadline: Deadline,
  ): void {
    const durationMs = performance.now() - startedAt;
    const error = 'error' in outcome ? outcome.error : undefined;
    const isAborted = error !== undefined && (deadline.isAbortedByCaller || this.#isClosed);
    const ending = isAborted ? { aborted: true } : isMarketgateError(error) && { code: error.code };
    requestChannel.publish({ method, endpoint, attempt, ...ending, durationMs });
  }

  #exceeded(name: string, milliseconds: number, { isSent }: Deadline): MarketgateError {
    if (!isSent || this.#transport.isLookingUp) return notSent(name, milliseconds);
    return new MarketgateError(
      'service_unavailable',
      `${name}: no answer within ${Math.round(milliseconds)} ms; the service is slow or down, or "timeout" is too short`,
    );
  }
}

/** What is asked, to tell inputs apart. Contains secrets. */
const inputOf = ({ path, parameters: { query, body } }: WireRequest): string =>
  `${path}\n${query ?? body}`;

const closedError = (): MarketgateError =>
  new MarketgateError('service_unavailable', 'the call was ended: this client was closed');

/** Doubles with each retry, from 0 on. The jitter keeps the processes of a fleet from retrying at once. */
function waitBefore(retry: number): number {
  const longest = Math.min(FIRST_WAIT * 2 ** retry, MAX_WAIT);
  return longest * (0.5 + Math.random() / 2);
}

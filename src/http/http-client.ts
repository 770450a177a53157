import { Deadline } from '../deadline.js';
import { type RequestMessage, requestChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { Breaker, type CallEnd, FAILURES } from './breaker.js';
import type { ClientSettings } from './client-options.js';
import type { WireAnswer } from './exchange.js';
import { closedError } from './failure.js';
import { isLong, type JsonBody, readJson, readJsonInTurns } from './json-body.js';
import { Pause } from './pause.js';
import { parseRetryAfter } from './retry-after.js';
import { RetryTurns } from './retry-turns.js';
import type { ServiceUrl } from './service-url.js';
import { nameOf, Transport, type WireRequest } from './transport.js';

/** An answer as it is judged: by its body first, its status second. */
export interface Answer {
  readonly status: number;
  readonly body: JsonBody;
}

/** A request and how to understand what comes back. */
export interface HttpRequest<T> extends WireRequest {
  /** Whether sending it again does no harm. False for what spends something. */
  readonly repeatable: boolean;
  /** Makes a result of an answer, in slices if that takes long, or throws a {@link MarketgateError}. */
  readonly judge: (answer: Answer) => T | Promise<T>;
}

const FIRST_WAIT = 100;
const LONGEST_WAIT = 2000;

/** One way to speak HTTP for both clients: the deadline, the retries and the pauses are here. */
export class HttpClient {
  readonly #transport: Transport;
  readonly #settings: ClientSettings;
  readonly #pause: Pause;
  readonly #breaker: Breaker;
  readonly #calls = new Set<Deadline>();
  #isClosed = false;
  // As many as open the breaker when they fail.
  readonly #turns = new RetryTurns(FAILURES);

  constructor(url: ServiceUrl, settings: ClientSettings) {
    this.#transport = new Transport(url, settings);
    this.#settings = settings;
    this.#pause = new Pause(settings.monotonicClock);
    this.#breaker = new Breaker(settings.monotonicClock);
  }

  /**
   * The deadline of a call, which also ends when the client is closed. It must be disposed of.
   * @param what names the call, as in "GET /api/items/all".
   */
  deadline(what: string, milliseconds: number, signal: AbortSignal | undefined): Deadline {
    const exceeded = (): MarketgateError =>
      new MarketgateError(
        'service_unavailable',
        `${what}: no answer within ${Math.round(milliseconds)} ms; the service is slow or down, or "timeout" is too short`,
      );
    const deadline = new Deadline(milliseconds, exceeded, signal, this.#calls);
    if (this.#isClosed) deadline.end(closedError());
    return deadline;
  }

  /**
   * Sends the request, again if that is safe and promises something, and judges the answer.
   * @throws MarketgateError, or the reason of the caller's aborted signal.
   */
  async call<T>(request: HttpRequest<T>, deadline: Deadline): Promise<T> {
    const what = nameOf(request);
    this.#transport.checkOpen();
    this.#pause.check(what);
    const isProbe = this.#breaker.enter(what);
    let end: CallEnd = 'answered';
    try {
      return await this.#attempts(request, deadline);
    } catch (error) {
      if (deadline.isAborted || !isMarketgateError(error)) end = 'unknown';
      else if (error.code === 'service_unavailable') end = 'failed';
      throw error;
    } finally {
      this.#breaker.leave(isProbe, end);
    }
  }

  async #attempts<T>(request: HttpRequest<T>, deadline: Deadline): Promise<T> {
    const most = request.repeatable ? this.#settings.retries : 0;
    let isWell = false;
    let hasTurn = false;
    try {
      for (let attempt = 0; ; attempt++) {
        if (deadline.ended) throw deadline.reason;
        const begun = requestChannel.hasSubscribers ? performance.now() : undefined;
        try {
          const answer = await this.#transport.send(request, deadline);
          const judged = this.#judged(request, answer, deadline);
          // What is short is judged already: a turn more would only delay it.
          const result = judged instanceof Promise ? await judged : judged;
          if (begun !== undefined) report(request, attempt, begun, undefined);
          isWell = true;
          return result;
        } catch (error) {
          if (begun !== undefined) report(request, attempt, begun, error);
          const wait = waitBefore(attempt + 1);
          const mayTryAgain = mayPass(error) && attempt < most && !this.#breaker.isOpen;
          if (!mayTryAgain || wait >= deadline.remaining) throw error;
          await deadline.wait(wait);
          if (!hasTurn) await this.#turns.enter(deadline);
          hasTurn = true;
          // Meanwhile another call may have been told to leave the service alone, or many have failed.
          this.#pause.check(nameOf(request));
          if (this.#breaker.isOpen) throw error;
        }
      }
    } finally {
      if (hasTurn) this.#turns.leave(isWell);
    }
  }

  /** Ends the connections and all calls, and waits for none of them. */
  close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#transport.close();
    for (const call of [...this.#calls]) call.end(closedError());
    return closed;
  }

  #judged<T>(request: HttpRequest<T>, answer: WireAnswer, deadline: Deadline): T | Promise<T> {
    const { status, body } = answer;
    try {
      const judged = isLong(body)
        ? readJsonInTurns(body, () => deadline.turn()).then((read) =>
            request.judge({ status, body: read }),
          )
        : request.judge({ status, body: readJson(body) });
      if (!(judged instanceof Promise)) return judged;
      return judged.catch((error: unknown) => this.#fail(answer, error));
    } catch (error) {
      return this.#fail(answer, error);
    }
  }

  /** Throws the error, with the pause that the service asked for. */
  #fail({ status, retryAfter }: WireAnswer, error: unknown): never {
    const seconds = parseRetryAfter(retryAfter, this.#settings.clock());
    const asked = status === 429 || (status >= 500 && seconds !== undefined);
    if (!asked || !isMarketgateError(error)) throw error;
    throw new MarketgateError(error.code, error.message, {
      cause: error.cause,
      retryAfter: this.#pause.begin(seconds),
    });
  }
}

function report(
  { method, path }: WireRequest,
  attempt: number,
  begun: number,
  error: unknown,
): void {
  const message: RequestMessage = {
    method,
    endpoint: path,
    attempt,
    ...(isMarketgateError(error) && { code: error.code }),
    durationMs: performance.now() - begun,
  };
  requestChannel.publish(message);
}

/** Whether the next try can go better: it failed for want of an answer, and nobody asked us to wait. */
function mayPass(error: unknown): boolean {
  return (
    isMarketgateError(error) &&
    error.code === 'service_unavailable' &&
    error.retryAfter === undefined
  );
}

/** Doubles, with jitter, so that the processes of a fleet do not come back all at once. */
function waitBefore(attempt: number): number {
  const longest = Math.min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT);
  return longest * (0.5 + Math.random() / 2);
}

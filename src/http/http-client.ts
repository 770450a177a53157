import { Deadline, type EndListener } from '../deadline.js';
import { requestChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { Breaker, type CallEnd, FAILURES } from './breaker.js';
import type { ClientSettings, ServiceUrl } from './client-options.js';
import { closedError } from './failure.js';
import { type JsonResponse, parseJson, WITHOUT_ANSWER } from './meanings.js';
import { parseRetryAfter, RetryAfterGate } from './retry-after.js';
import { nameOf, Transport, type WireRequest, type WireResponse } from './transport.js';

/** A request, and how to parse its response. */
export interface HttpRequest<T> extends WireRequest {
  /** Whether the request can be sent again safely. */
  readonly repeatable: boolean;
  /** Parses the response, or throws a {@link MarketgateError}. */
  readonly parse: (response: JsonResponse) => T | Promise<T>;
}

/** Milliseconds before the first retry, and at most before a later one. */
const FIRST_WAIT = 100;
const LONGEST_WAIT = 2000;

/** One way to speak HTTP for both clients: deadline, retries, retry-after gate and breaker. */
export class HttpClient {
  readonly #transport: Transport;
  readonly #settings: ClientSettings;
  readonly #gate: RetryAfterGate;
  readonly #breaker: Breaker;
  readonly #calls = new Set<Deadline>();
  // As many as open the breaker when they fail.
  readonly #turns = new RetryTurns(FAILURES);
  #isClosed = false;

  constructor(url: ServiceUrl, settings: ClientSettings) {
    this.#transport = new Transport(url, settings);
    this.#settings = settings;
    this.#gate = new RetryAfterGate(settings.clock);
    this.#breaker = new Breaker(settings.clock);
  }

  /**
   * The deadline of a call, which also ends when the client is closed. It must be disposed of.
   * @param what names the call, as in "GET /api/items/all".
   */
  deadline(what: string, milliseconds: number, signal: AbortSignal | undefined): Deadline {
    const exceeded = (): MarketgateError =>
      new MarketgateError(
        WITHOUT_ANSWER.notReached,
        `${what}: no answer within ${Math.round(milliseconds)} ms; the service is slow or down, or "timeout" is too short`,
      );
    const deadline = new Deadline(milliseconds, exceeded, signal, this.#calls);
    if (this.#isClosed) deadline.end(closedError());
    return deadline;
  }

  /**
   * Sends the request, again if that is safe and promising, and makes a result of the answer.
   * @throws MarketgateError, or the reason of the caller's aborted signal.
   */
  async call<T>(request: HttpRequest<T>, deadline: Deadline): Promise<T> {
    if (deadline.ended) throw deadline.reason;
    const what = nameOf(request);
    this.#gate.check(what);
    const isProbe = this.#breaker.enter(what);
    let end: CallEnd = 'answered';
    try {
      return await this.#tryRepeatedly(request, deadline);
    } catch (error) {
      if (deadline.isAborted || !isMarketgateError(error)) end = 'unknown';
      else if (error.code === 'service_unavailable') end = 'failed';
      throw error;
    } finally {
      this.#breaker.leave(isProbe, end);
    }
  }

  /** Ends the connections and all calls, and waits for none of them. */
  close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#transport.close();
    for (const call of [...this.#calls]) call.end(closedError());
    return closed;
  }

  async #tryRepeatedly<T>(request: HttpRequest<T>, deadline: Deadline): Promise<T> {
    const retries = request.repeatable ? this.#settings.retries : 0;
    let isAnswered = false;
    let hasTurn = false;
    try {
      for (let attempt = 0; ; attempt++) {
        try {
          const result = await this.#try(request, attempt, deadline);
          isAnswered = true;
          return result;
        } catch (error) {
          const wait = waitBefore(attempt + 1);
          const mayTryAgain = mayPass(error) && attempt < retries && !this.#breaker.isOpen;
          if (!mayTryAgain || wait >= deadline.remaining) throw error;
          await deadline.wait(wait);
          if (!hasTurn) await this.#turns.enter(deadline);
          hasTurn = true;
          // Meanwhile another call can have closed the gate, or many can have failed.
          this.#gate.check(nameOf(request));
          if (this.#breaker.isOpen) throw error;
        }
      }
    } finally {
      if (hasTurn) this.#turns.leave(isAnswered);
    }
  }

  async #try<T>(request: HttpRequest<T>, attempt: number, deadline: Deadline): Promise<T> {
    const begun = requestChannel.hasSubscribers ? performance.now() : undefined;
    let failure: unknown;
    try {
      const response = await this.#transport.send(request, deadline);
      try {
        const { status, body } = response;
        return await request.parse({ status, body: parseJson(body) });
      } catch (error) {
        throw this.#withBackoff(response, error);
      }
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      if (begun !== undefined) {
        const { method, path: endpoint } = request;
        const durationMs = performance.now() - begun;
        const code = isMarketgateError(failure) && { code: failure.code };
        requestChannel.publish({ method, endpoint, attempt, ...code, durationMs });
      }
    }
  }

  /** The error, with the backoff that the service asked for; closes the gate. */
  #withBackoff({ status, retryAfter }: WireResponse, error: unknown): unknown {
    const seconds = parseRetryAfter(retryAfter, this.#settings.clock());
    const isAsked = status === 429 || (status >= 500 && seconds !== undefined);
    if (!isAsked || !isMarketgateError(error)) return error;
    return new MarketgateError(error.code, error.message, {
      cause: error.cause,
      retryAfter: this.#gate.close(seconds),
    });
  }
}

/**
 * Lets few calls at a time retry; the others that failed wait for how these fare. A blip in which many
 * fail at once is over for all when it is over for the first. A dead service gets a few requests more,
 * and not three from each caller: the breaker opens, and those that waited are not sent.
 */
class RetryTurns {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  /** @param most calls that may retry at the same time. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Waits for a turn, but not longer than the deadline. A call that got one must {@link leave}. */
  async enter(deadline: Deadline): Promise<void> {
    if (this.#taken < this.#most) {
      this.#taken++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        this.#waiting.delete(go);
        deadline.unlisten(listener);
        this.#taken++;
        resolve();
      };
      const listener: EndListener = {
        onEnd: (reason) => {
          this.#waiting.delete(go);
          reject(reason);
        },
      };
      this.#waiting.add(go);
      deadline.listen(listener);
    });
  }

  /** Gives the turn to the next call; to all that wait when the service has answered. */
  leave(isAnswered: boolean): void {
    this.#taken--;
    for (const go of [...this.#waiting]) {
      go();
      if (!isAnswered) return;
    }
  }
}

/** Whether a retry can go better: there was no answer, and the service did not ask to be left alone. */
const mayPass = (error: unknown): boolean =>
  isMarketgateError(error) &&
  error.code === 'service_unavailable' &&
  error.retryAfter === undefined;

/** Doubles, with jitter, so that the processes of a fleet do not come back all at once. */
function waitBefore(attempt: number): number {
  const longest = Math.min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT);
  return longest * (0.5 + Math.random() / 2);
}

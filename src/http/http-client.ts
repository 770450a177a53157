import { type RequestMessage, requestChannel } from '../diagnostics/request.js';
import { isMarketgateError, MarketgateError } from '../errors/marketgate-error.js';
import { Breaker, type CallEnd } from './breaker.js';
import type { ClientSettings } from './client-options.js';
import type { Deadline } from './deadline.js';
import { type JsonBody, readJson } from './json-body.js';
import { Pause } from './pause.js';
import { parseRetryAfter } from './retry-after.js';
import type { ServiceUrl } from './service-url.js';
import { nameOf, Transport, type WireAnswer, type WireRequest } from './transport.js';

/** An answer as it is judged: by its body first, its status second. */
export interface Answer {
  readonly status: number;
  readonly body: JsonBody;
}

/** A request and how to understand what comes back. */
export interface HttpRequest<T> extends WireRequest {
  /** Whether sending it again does no harm. False for what spends something. */
  readonly repeatable: boolean;
  /** Makes a result of an answer, or throws a {@link MarketgateError}. */
  readonly judge: (answer: Answer) => T;
}

/** Statuses that say "not now", whatever the body says: too slow, too early, too many. */
const NOT_NOW = new Set([408, 425, 429]);

const FIRST_WAIT = 100;
const LONGEST_WAIT = 2000;

/** One way to speak HTTP for both clients: the deadline, the retries and the pauses are here. */
export class HttpClient {
  readonly #transport: Transport;
  readonly #settings: ClientSettings;
  readonly #pause: Pause;
  readonly #breaker: Breaker;

  constructor(url: ServiceUrl, settings: ClientSettings) {
    this.#transport = new Transport(url, settings);
    this.#settings = settings;
    this.#pause = new Pause(settings.clock);
    this.#breaker = new Breaker(settings.clock);
  }

  /**
   * Sends the request, again if that is safe and promises something, and judges the answer.
   * @throws MarketgateError, or the reason of the caller's aborted signal.
   */
  async call<T>(request: HttpRequest<T>, deadline: Deadline): Promise<T> {
    const what = nameOf(request);
    this.#transport.checkOpen(what);
    this.#pause.check(what);
    const isProbe = this.#breaker.enter(what);
    let end: CallEnd = 'answered';
    try {
      // The call that tries whether the service is back tries once.
      return await this.#attempts(request, isProbe ? 0 : this.#settings.retries, deadline);
    } catch (error) {
      if (!isMarketgateError(error)) end = 'unknown';
      else if (error.code === 'service_unavailable') end = 'failed';
      throw error;
    } finally {
      this.#breaker.leave(isProbe, end);
    }
  }

  async #attempts<T>(request: HttpRequest<T>, retries: number, deadline: Deadline): Promise<T> {
    const most = request.repeatable ? retries : 0;
    for (let attempt = 0; ; attempt++) {
      if (deadline.ended) throw deadline.reason;
      const begun = requestChannel.hasSubscribers ? performance.now() : undefined;
      try {
        const result = this.#judged(request, await this.#transport.send(request, deadline));
        if (begun !== undefined) report(request, attempt, begun, undefined);
        return result;
      } catch (error) {
        if (begun !== undefined) report(request, attempt, begun, error);
        const wait = waitBefore(attempt + 1);
        const worthwhile = mayPass(error) && attempt < most && wait < deadline.remaining;
        if (!worthwhile) throw error;
        await deadline.wait(wait);
        // Meanwhile another call may have been told to leave the service alone.
        this.#pause.check(nameOf(request));
      }
    }
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #judged<T>(request: HttpRequest<T>, { status, retryAfter, body }: WireAnswer): T {
    try {
      return request.judge({ status, body: readJson(body) });
    } catch (error) {
      const seconds = parseRetryAfter(retryAfter, this.#settings.clock());
      const asked = status === 429 || (status >= 500 && seconds !== undefined);
      if (!asked || !isMarketgateError(error)) throw error;
      throw new MarketgateError(error.code, error.message, {
        cause: error.cause,
        retryAfter: this.#pause.begin(seconds),
      });
    }
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

/** Whether the status alone forbids to take the body for a *no*. */
export const isOutage = ({ status }: Answer): boolean => status >= 500 || NOT_NOW.has(status);

/** The exception for an answer that is none: the service is limiting, down, or not itself. */
export function unusable(what: string, answer: Answer): MarketgateError {
  if (answer.status === 429) {
    return new MarketgateError(
      'service_unavailable',
      `${what}: too many requests (HTTP 429); ask less often`,
    );
  }
  if (isOutage(answer)) {
    return new MarketgateError(
      'service_unavailable',
      `${what}: the service failed (HTTP ${answer.status}); try again later`,
    );
  }
  const found = answer.body.isJson ? 'JSON of another shape' : answer.body.what;
  return new MarketgateError(
    'unexpected_response',
    `${what}: expected JSON as documented, got ${found} (HTTP ${answer.status}); check the URL and what stands in front of the service`,
  );
}

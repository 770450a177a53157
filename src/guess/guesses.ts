import { type Deadline, NoAnswer, withTimeout } from '../deadline.js';
import { reportDrift, warnOnce } from '../diagnostics.js';
import { isMarketgateError, type MarketgateError } from '../errors.js';
import { failureOf } from '../http/failure.js';
import { lru } from '../lru.js';
import { type AppId, idText } from '../options.js';
import { clientKey } from './client-key.js';
import { type GuessLimit, type GuessRules, tooManyAttempts } from './guess-limit.js';

/** Milliseconds that a {@link GuessLimit} has for one call. */
const SHARED_TIMEOUT = 500;
/** The most clients that are counted: those with the latest guesses. */
const MAX_CLIENTS = 10_000;

/** The guesses of one client, or of all, in a fixed window that the first of them begins. */
class Client {
  /** Questions that have no answer yet, and can become guesses. */
  inFlight = 0;
  #guesses = 0;
  #endsAt = 0;

  constructor(private readonly windowMs: number) {}

  add(now: number): void {
    if (now >= this.#endsAt) {
      this.#guesses = 0;
      this.#endsAt = now + this.windowMs;
    }
    this.#guesses++;
  }

  count(now: number): number {
    return now < this.#endsAt ? this.#guesses : 0;
  }

  /** Seconds until the window ends. A clock of the app's can have stepped back. */
  secondsLeft(now: number): number {
    return Math.min(this.#endsAt - now, this.windowMs) / 1000;
  }
}

/** What {@link Guesses.count} needs to know of a question. */
interface Question {
  /** Who is counted. */
  readonly client: AppId;
  /** Names the service and the account, for a {@link GuessLimit}. */
  readonly scope: () => string;
  readonly deadline: Deadline;
}

/**
 * The guess limit of one `KeyApi` or `LoginApi`. What counts is every answer of the service but a positive one, while it is up;
 * and a visitor who leaves after the question was sent. What a client has in flight can still fail, so it counts until it is
 * answered, and further questions wait for that: no burst gets past the limit, and a burst of valid codes only waits.
 *
 * A {@link GuessLimit} counts for all processes. This process counts next to it, for the time in which that cannot count.
 */
export class Guesses {
  readonly #clients = lru<string, Client>(MAX_CLIENTS);
  /** Of all clients together. */
  readonly #all: Client;
  /** Go on when a question has ended. */
  #waiting: (() => void)[] = [];
  /** Whether the limits of this process hold while the shared limit answers. They do not if an app's own limit names none. */
  readonly #hasLimits: boolean;

  /**
   * @param owner whose option `client` is counted, for errors.
   * @param clock milliseconds, for durations.
   */
  constructor(
    private readonly owner: string,
    private readonly rules: GuessRules,
    private readonly clock: () => number,
  ) {
    const { shared } = rules;
    this.#hasLimits = shared === undefined || shared.limit !== undefined;
    this.#all = new Client(rules.limits.windowMs);
  }

  /** `too_many_attempts`, where this process knows that the client is over the limit. */
  refusal(client: AppId): MarketgateError | undefined {
    const key = this.#keyOf(client);
    const known = key === undefined ? undefined : this.#clients.peek(key);
    return known && this.#hasLimits ? this.#refusalOf(known) : undefined;
  }

  /**
   * Asks the service, once the client may ask, and counts a guess if the answer is none or not positive.
   * @throws MarketgateError `too_many_attempts`; what `ask` throws; or the reason of the deadline.
   */
  async count<T>({ client, scope, deadline }: Question, ask: () => Promise<T>): Promise<T> {
    const key = this.#keyOf(client);
    if (key === undefined) return ask();
    const own = this.#clients.get(key) ?? new Client(this.rules.limits.windowMs);
    this.#clients.set(key, own);
    await this.#enter(own, deadline);
    let isGuess = false;
    try {
      const { shared } = this.rules;
      if (shared !== undefined) await this.#askShared(shared, own, key, scope);
      const answer = await ask();
      isGuess = answer === null;
      return answer;
    } catch (error) {
      isGuess = deadline.isSent && (deadline.isAbortedByCaller || isAnswer(error));
      throw error;
    } finally {
      void this.#end(own, isGuess, key, scope);
    }
  }

  /** `undefined`: nobody is counted. @throws TypeError for what is no id. */
  #keyOf(client: AppId): string | undefined {
    const text = idText(this.owner, 'client', client);
    return text === undefined ? undefined : clientKey(text);
  }

  /** Waits while what is in flight can still fill a limit. @throws MarketgateError `too_many_attempts`. */
  async #enter(client: Client, deadline: Deadline): Promise<void> {
    const { limit, total } = this.rules.limits;
    for (;;) {
      const refusal = this.#hasLimits ? this.#refusalOf(client) : undefined;
      if (refusal !== undefined) throw refusal;
      const isFirst =
        client.inFlight === 0 && (!this.#hasLimits || client.count(this.clock()) === 0);
      if (isFirst || (this.#openOf(client) < limit && this.#openOf(this.#all) < total)) break;
      await deadline.race(new Promise<void>((wake) => this.#waiting.push(wake)));
    }
    client.inFlight++;
    this.#all.inFlight++;
  }

  /** Guesses, and what is in flight and can become one. */
  #openOf(client: Client): number {
    return client.inFlight + client.count(this.clock());
  }

  #refusalOf(client: Client): MarketgateError | undefined {
    const now = this.clock();
    const all = this.#all;
    const count = client.count(now);
    const { limit, total } = this.rules.limits;
    if (count >= limit) return tooManyAttempts(client.secondsLeft(now));
    if (count === 0 || all.count(now) < total) return undefined;
    return tooManyAttempts(Math.min(client.secondsLeft(now), all.secondsLeft(now)));
  }

  /** @throws MarketgateError `too_many_attempts`, by the limit of all processes; by that of this one if the other cannot count. */
  async #askShared(
    shared: GuessLimit,
    client: Client,
    key: string,
    scope: () => string,
  ): Promise<void> {
    let seconds: unknown;
    try {
      seconds = await withTimeout(SHARED_TIMEOUT, () => shared.check(key, scope()));
      if (typeof seconds !== 'number') throw new NoAnswer('gave no number of seconds');
    } catch (error) {
      reportFailure(shared, 'guessLimit.check', error);
      const refusal = this.#refusalOf(client);
      if (refusal !== undefined) throw refusal;
      return;
    }
    if (seconds > 0) throw tooManyAttempts(seconds);
  }

  /** Counts a guess everywhere before the next question has its turn. */
  async #end(client: Client, isGuess: boolean, key: string, scope: () => string): Promise<void> {
    if (isGuess) {
      const { shared } = this.rules;
      for (const each of [client, this.#all]) each.add(this.clock());
      if (shared !== undefined) {
        const adding = withTimeout(SHARED_TIMEOUT, () => shared.add(key, scope()));
        await adding.catch((error: unknown) => reportFailure(shared, 'guessLimit.add', error));
      }
    }
    client.inFlight--;
    this.#all.inFlight--;
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** Errors about the app and not about what a client has sent, and of this limit itself. */
const OF_NOBODY = ['api_key_rejected', 'app_credentials_rejected', 'too_many_attempts'];

/** Whether an error says that the service has answered what was sent, and not with yes. */
function isAnswer(error: unknown): boolean {
  if (!isMarketgateError(error) || OF_NOBODY.includes(error.code)) return false;
  return error.code !== 'service_unavailable' || failureOf(error)?.health === 'up';
}

/** Reports that a limit could not count. A message of another library can contain the client. */
function reportFailure(shared: GuessLimit, endpoint: string, error: unknown): void {
  reportDrift(shared, {
    endpoint,
    kind: 'not-counted',
    path: 'count',
    expected: 'a limit that answers; in Redis, one that can write and run scripts (EVAL)',
  });
  let why = '';
  if (error instanceof NoAnswer) why = `: ${endpoint} ${error.message}`;
  else if (isMarketgateError(error)) why = `: ${error.message.split(';')[0]}`;
  warnOnce('MARKETGATE_GUESSES_NOT_SHARED', why);
}

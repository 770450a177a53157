import type { Request } from 'express';
import { warnOnce } from '../../diagnostics/warnings.js';
import { MarketgateError } from '../../errors/marketgate-error.js';
import { wrongOption } from '../../options/check-options.js';
import { clientAddress } from '../../stores/guess-limit/client-name.js';
import {
  checkGuessLimitOptions,
  type GuessLimit,
  type GuessLimitOptions,
  type Reservation,
} from '../../stores/guess-limit/guess-limit.js';
import { AttemptCounts, LocalGuessLimit } from '../../stores/guess-limit/memory-guess-limit.js';

/** What `guessLimit` can be. */
export type GuessLimitOption = GuessLimitOptions | GuessLimit | false;

/** Asks the service about a code, unless the client has failed too often. */
export type GuessGate = <T>(
  req: Request,
  code: string,
  ask: (how: { onShared?: () => void }) => Promise<T | null>,
) => Promise<T | null>;

/** The counts of each KeyApi: a client has one count over all its guards, wherever they were made. */
const countsOf = new WeakMap<object, AttemptCounts>();

/** @throws TypeError that names the wrong option. */
export function guessGate(
  owner: string,
  option: GuessLimitOption | undefined,
  keyApi: object,
): GuessGate {
  if (option === false) return (_req, _code, ask) => ask({});
  if (option !== undefined && (typeof option !== 'object' || option === null)) {
    throw wrongOption(
      owner,
      'guessLimit',
      'must be { limit, windowMs, keyGenerator }, a MemoryGuessLimit or RedisGuessLimit, or false',
    );
  }
  if (isGuessLimit(option)) return gateOf(option, false);
  const settings = checkGuessLimitOptions(`${owner}: guessLimit`, option ?? {});
  let counts = countsOf.get(keyApi);
  if (counts === undefined) {
    counts = new AttemptCounts();
    countsOf.set(keyApi, counts);
  }
  return gateOf(new LocalGuessLimit(settings, counts), option?.keyGenerator === undefined);
}

const isGuessLimit = (option: GuessLimitOption | undefined): option is GuessLimit =>
  typeof option === 'object' &&
  (['keyGenerator', 'reserve', 'refund'] as const).every(
    (method) => typeof (option as Partial<GuessLimit>)[method] === 'function',
  );

/** A counter that cannot be asked must not refuse customers; it guards no door, only our quota. */
const ALLOWED: Reservation = { isAllowed: true, retryAfter: 0 };

/** The attempts of one client that are under way, by code; each settles when it is counted. */
type Attempts = Map<string, Promise<void>>;

/**
 * Only a real *no* counts, and that is known afterwards: an attempt is reserved, and given back for any
 * other answer. Whoever asks about a code that is being asked about already tries no other one.
 *
 * @param isDefault - whether clients are told apart by Express's idea of their address.
 */
function gateOf(limit: GuessLimit, isDefault: boolean): GuessGate {
  const clients = new Map<string, Attempts>();

  /** Waits for an attempt, while other attempts of this client can still be given back. */
  async function reserve(client: string, code: string, attempts: Attempts): Promise<boolean> {
    for (;;) {
      if (attempts.has(code)) return false;
      const { isAllowed, retryAfter } = await (async () => limit.reserve(client))().catch(
        () => ALLOWED,
      );
      if (isAllowed) {
        if (!attempts.has(code)) return true;
        await limit.refund(client).catch(() => {});
        return false;
      }
      if (attempts.size === 0) throw tooMany(retryAfter);
      await Promise.race(attempts.values());
    }
  }

  return async (req, code, ask) => {
    if (isDefault) checkProxy(req);
    const client = limit.keyGenerator(req);
    const attempts: Attempts = clients.get(client) ?? new Map();
    clients.set(client, attempts);
    const forget = (): void => {
      if (attempts.size === 0 && clients.get(client) === attempts) clients.delete(client);
    };
    try {
      if (!(await reserve(client, code, attempts))) return await ask({});
    } finally {
      forget();
    }
    clients.set(client, attempts);
    let isCounted = false;
    const run = async () => {
      let isShared = false;
      try {
        const answer = await ask({
          onShared: () => {
            isShared = true;
          },
        });
        // What another process has asked was counted there.
        isCounted = answer === null && !isShared;
        return answer;
      } finally {
        if (!isCounted) await (async () => limit.refund(client))().catch(() => {});
        attempts.delete(code);
        forget();
      }
    };
    const answer = run();
    attempts.set(
      code,
      answer.then(
        () => {},
        () => {},
      ),
    );
    return answer;
  };
}

/** Says once what makes all visitors one, or lets them choose who they are. */
function checkProxy(req: Request): void {
  const trust: unknown = req.app?.get?.('trust proxy');
  if (trust === true) warnOnce('MARKETGATE_PERMISSIVE_TRUST_PROXY');
  else if (!trust && req.headers['x-forwarded-for'] !== undefined && clientAddress(req)) {
    warnOnce('MARKETGATE_UNEXPECTED_X_FORWARDED_FOR');
  }
}

const tooMany = (retryAfter: number): MarketgateError =>
  new MarketgateError('too_many_attempts', 'too many purchase codes that the service said no to', {
    retryAfter: Math.max(1, retryAfter),
  });

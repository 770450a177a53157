import type { Request } from 'express';
import { wrongOption } from '../../options.js';
import { AttemptLog } from '../../stores/guess-limit/attempt-log.js';
import {
  checkGuessLimitOptions,
  type GuessLimit,
  type GuessLimitOptions,
} from '../../stores/guess-limit/guess-limit.js';
import { LocalGuessLimit } from '../../stores/guess-limit/memory-guess-limit.js';
import { type Ask, ClientAttempts, LeftAttempts } from './client-attempts.js';

/** What `guessLimit` can be. */
export type GuessLimitOption = GuessLimitOptions | GuessLimit | false;

/** Asks the service about a code, unless the client has failed too often. */
export type GuessGate = <T>(
  req: Request,
  code: string,
  ask: Ask<T>,
  signal: AbortSignal | undefined,
) => Promise<T | null>;

/** The attempts in progress by client, and those whose visitors have left. */
interface Clients {
  readonly byName: Map<string, ClientAttempts>;
  readonly left: LeftAttempts;
}

/** The log of each KeyApi: a client has one count over all its guards, wherever they were made. */
const logOf = new WeakMap<object, AttemptLog>();
/** Attempts in progress, by KeyApi and by what counts them. */
const clientsOf = new WeakMap<object, WeakMap<object, Clients>>();

/** @throws TypeError that names the wrong option. */
export function guessGate(
  owner: string,
  option: GuessLimitOption | undefined,
  keyApi: object,
): GuessGate {
  if (option === false) return (_req, _code, ask, signal) => ask({ signal });
  if (option !== undefined && (typeof option !== 'object' || option === null)) {
    throw wrongOption(
      owner,
      'guessLimit',
      'must be { limit, windowMs, keyGenerator }, a MemoryGuessLimit or RedisGuessLimit, or false',
    );
  }
  if (isGuessLimit(option)) return gateOf(option, clientsFor(keyApi, option));
  const settings = checkGuessLimitOptions(`${owner}: guessLimit`, option ?? {});
  const log = getOrMake(logOf, keyApi, () => new AttemptLog());
  return gateOf(new LocalGuessLimit(settings, log), clientsFor(keyApi, log));
}

const isGuessLimit = (option: GuessLimitOption | undefined): option is GuessLimit =>
  typeof option === 'object' &&
  (['keyGenerator', 'reserve'] as const).every(
    (method) => typeof (option as Partial<GuessLimit>)[method] === 'function',
  );

const clientsFor = (keyApi: object, counter: object): Clients =>
  getOrMake(
    getOrMake(clientsOf, keyApi, () => new WeakMap<object, Clients>()),
    counter,
    () => ({ byName: new Map(), left: new LeftAttempts() }),
  );

function getOrMake<T>(map: WeakMap<object, T>, key: object, make: () => T): T {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

function gateOf(limit: GuessLimit, { byName, left }: Clients): GuessGate {
  return async (req, code, ask, signal) => {
    const name = limit.keyGenerator(req);
    let client = byName.get(name);
    if (client === undefined) {
      const fresh = new ClientAttempts(
        () => {
          if (byName.get(name) === fresh) byName.delete(name);
        },
        name,
        left,
      );
      byName.set(name, fresh);
      client = fresh;
    }
    return client.attempt(code, async () => limit.reserve(name), ask, signal);
  };
}

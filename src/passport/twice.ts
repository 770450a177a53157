import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { schedule, wait } from '../deadline.js';
import type { SessionRead } from '../web/session.js';
import type { Failure } from './failure.js';
import type { LoginAttempt, LoginState } from './login-state.js';

/*
 * Twice is once: browsers send a callback or a "Continue" twice, as do a service worker's preload, a double click, an
 * antivirus. The second request comes with the cookies of the first one. It must not fail because the first has used up the
 * auth_key, and the browser keeps only one of the two responses.
 *
 * In one process it waits for the response to the first ({@link RunningLogins}), and {@link endOfSecond} says how it ends
 * then. With several it looks at the session, until that shows how the login has ended elsewhere ({@link findElsewhere}).
 */

/** How a request to the strategy ends: one of passport's functions with its arguments, or the page that asks. */
export type Outcome =
  | [type: 'redirect', url: string]
  | [type: 'success', user: Express.User, info: object]
  | [type: 'pass']
  | [type: 'ask']
  | [type: 'fail', failure: Failure]
  | [type: 'error', error: object];

/** How a login ended that a request ran. */
export interface LoginEnd {
  readonly outcome: Outcome;
  /** Whether the browser has got the response: it drops that of the first of two clicks. */
  readonly isDelivered: boolean;
  /** What is known about the browser then. */
  readonly state: LoginState;
  /** The attempt that was used; absent for the answer to a page. */
  readonly attempt?: LoginAttempt | undefined;
  /** The `user_id` of the account that has logged in. */
  readonly account?: string | undefined;
  /** Where it leads. */
  readonly to?: string | undefined;
}

// In one process

/**
 * How the second request ends:
 * - run: like any other;
 * - inherit: like any other, with the attempt that the first has used;
 * - take over: as the first would have, whose response the browser has dropped;
 * - same: as the first;
 * - look again: it sends the browser to where the first has led, with the cookies of that response.
 */
export type SecondEnd = 'run' | 'inherit' | 'take over' | 'same' | 'look again';

/** By the outcome of the first, and by whether its response was delivered or dropped. */
type SecondEnds = Record<Outcome[0], readonly [delivered: SecondEnd, dropped: SecondEnd]>;

/** With the same auth_key, or the same answer to the page. */
const EQUAL: SecondEnds = {
  success: ['look again', 'take over'],
  redirect: ['look again', 'take over'],
  fail: ['same', 'same'],
  error: ['same', 'same'],
  pass: ['run', 'run'],
  ask: ['run', 'run'],
};

/**
 * With another auth_key or answer, where nothing is left for it. It can be a stranger's, with planted cookies: it never
 * learns the id of what waits for "Continue".
 */
const OTHER: SecondEnds = {
  success: ['look again', 'inherit'],
  redirect: ['run', 'inherit'],
  fail: ['same', 'same'],
  error: ['same', 'inherit'],
  pass: ['run', 'run'],
  ask: ['run', 'run'],
};

/**
 * How a request ends that has waited for the first.
 *
 * @param isEqual whether both have the same subject.
 * @param hasOwn whether it has an attempt, or a login that waits for its answer, which the first has not used.
 * @param session what came of reading it again.
 */
export function endOfSecond(
  { outcome: [type], isDelivered, attempt }: LoginEnd,
  isEqual: boolean,
  hasOwn: boolean,
  session: SessionRead,
): SecondEnd {
  const hasLoggedIn = type === 'success' && isDelivered;
  if (!isEqual && (hasOwn || !(hasLoggedIn || attempt))) return 'run';
  const [delivered, dropped] = (isEqual ? EQUAL : OTHER)[type];
  // What waits for "Continue" cannot be put into a session that is not there.
  const isLost = type === 'redirect' && (session === 'gone' || session === 'unreadable');
  return isDelivered || isLost ? delivered : dropped;
}

/** How long a login is remembered after its response, in milliseconds. */
const REMEMBERED = 10_000;

/** How long others wait for a login, in milliseconds: longer than the deadlines of the service and of all stores together. */
const LONGEST = 60_000;
const STUCK =
  'MarketplaceStrategy: another request of this browser runs this login, and has not ended within a minute: verify has not called done, or the handler of the callback has not responded';

/** A login that one request runs, and others of the same browser wait for. */
export class RunningLogin {
  end: (end: LoginEnd) => void = () => {};
  /** Settles after the response: passport saves the session after `success`. */
  readonly ended = new Promise<LoginEnd>((resolve) => {
    this.end = resolve;
  });
  /**
   * The attempts that have begun in other tabs since: the state that this request has read is from before. With attempts in
   * a cookie only the first of them, because its start gives the browser another cookie.
   */
  begunMeanwhile: readonly LoginAttempt[] = [];

  /**
   * @param subject what only the browser of this login has: its auth_key, or the "Continue" that was pressed.
   * @param req the request that runs it.
   */
  constructor(
    readonly subject: string,
    public req: IncomingMessage | undefined,
  ) {}
}

/** The logins of a process that run, and those that have just ended in success or a redirect: one for each browser. */
export class RunningLogins {
  readonly #byBrowser = new Map<string, RunningLogin>();

  /** @param browser - see {@link browserOf}. */
  of(browser: readonly string[]): RunningLogin | undefined {
    return browser.map((name) => this.#byBrowser.get(name)).find((login) => login !== undefined);
  }

  begin(browser: readonly string[], subject: string, req: IncomingMessage): RunningLogin {
    const login = new RunningLogin(subject, req);
    for (const name of browser) this.#byBrowser.set(name, login);
    const giveUp = (): void =>
      login.end({
        outcome: ['error', new Error(STUCK)],
        isDelivered: false,
        state: { attempts: [] },
      });
    const timer = setTimeout(giveUp, LONGEST).unref();
    void login.ended.then(({ outcome: [type] }) => {
      clearTimeout(timer);
      // Not held for as long as the login is remembered.
      login.req = undefined;
      const forget = (): void => {
        for (const name of browser) {
          if (this.#byBrowser.get(name) === login) this.#byBrowser.delete(name);
        }
      };
      // One that has failed can be tried again at once.
      if (type === 'success' || type === 'redirect') schedule(REMEMBERED, forget);
      else forget();
    });
    return login;
  }
}

/**
 * What tells a browser from all others: its state, and all its cookies. A page in another tab can set a cookie between two
 * clicks; a session that has been replaced has no id any more. Empty for a browser without cookies.
 *
 * @param state what it has sent to name its state.
 */
export const browserOf = (
  { headers: { cookie } }: IncomingMessage,
  state: string | undefined,
): string[] => [state, cookie].flatMap((it) => (it ? hash('sha256', it, 'base64url') : []));

// In several processes

/** When the session is read again, in milliseconds after the time before: two seconds in all. */
const LOOKS = [100, 200, 300, 600, 800];
/** How long after the end of the session the response of the other process can come, in milliseconds. */
const RESPONSE = 500;

/** A login that another process can have run. */
export interface Elsewhere {
  /** The id of its attempt, as far as that is known. */
  readonly attempt: string;
  /** The page that asks about it, or any other id: where the browser looks again. */
  readonly page: string;
  /** A {@link shortHash} of its auth_key. */
  readonly key?: string;
  /** Whether there is such a login for certain. Otherwise, only a session that shows it counts. */
  readonly isCertain: boolean;
}

/**
 * Waits for a login that another process runs, with the auth_key or the attempt of this request. The session shows how that
 * ends: it is gone, or has a login that waits for "Continue". The cookies of this request show nothing: the browser looks
 * again with those of the other response.
 *
 * @param look - Reads the session again.
 * @returns the id of the page to which the browser is sent; `undefined` where there is no such login, or it has failed.
 */
export async function findElsewhere(
  { attempt: id, page, key, isCertain }: Elsewhere,
  look: () => Promise<[SessionRead, LoginState]>,
): Promise<string | undefined> {
  let wasUnreadable = false;
  for (const pause of [...LOOKS, undefined]) {
    const [session, { pending, attempts, last }] = await look();
    // Once can be chance, and a store that does not answer would be waited for each time.
    if (session === 'unreadable' && wasUnreadable) return page;
    wasUnreadable = session === 'unreadable';
    if (session === 'fixed') {
      if (!isCertain) return undefined;
      for (const each of LOOKS) await wait(each);
      return page;
    }
    if (session === 'gone') {
      // The other response has to be the first.
      await wait(RESPONSE);
      return page;
    }
    if (session === 'read') {
      if (pending && pending.key === key) return pending.id;
      const hasSucceeded = last?.ok === true && last.id === id;
      const isRunning = attempts.some((it) => it.id === id) || pending?.id === id;
      if (!isRunning && !hasSucceeded) return undefined;
      // Passport replaces the session next, if the login is kept there.
      if (pause === undefined) return hasSucceeded ? page : undefined;
    }
    if (pause !== undefined) await wait(pause);
  }
  // It could not be read at last.
  return page;
}

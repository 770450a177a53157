import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { schedule } from '../deadline.js';
import type { Failure } from './failure.js';
import type { LoginAttempt, LoginState } from './login-state.js';

/*
 * Browsers send a callback or a "Continue" twice: a service worker's preload, a double click, an antivirus. The second
 * request comes with the cookies of the first one. It must not fail because the first has used up the auth_key.
 */

/** How a request to the strategy ends: one of passport's functions with its arguments, or the page that asks. */
export type Outcome =
  | [type: 'redirect', url: string]
  | [type: 'success', user: Express.User, info: object]
  | [type: 'pass']
  | [type: 'ask']
  | [type: 'fail', failure: Failure]
  | [type: 'error', error: object];

/** How long a login is remembered after its response, in milliseconds. */
const REMEMBERED = 10_000;

/** How long others wait for a login, in milliseconds: longer than the deadlines of the service and of all stores together. */
const LONGEST = 60_000;
const STUCK =
  'MarketplaceStrategy: another request of this browser runs this login, and has not ended within a minute: verify has not called done, or the handler of the callback has not responded';

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

/** A login that one request runs, and others of the same browser wait for. */
export class RunningLogin {
  end: (end: LoginEnd) => void = () => {};
  /** Settles after the response: passport saves the session after `success`. */
  readonly ended = new Promise<LoginEnd>((resolve) => {
    this.end = resolve;
  });

  /**
   * @param subject what only the browser of this login has: its auth_key, or the "Continue" that was pressed.
   * @param req the request that runs it.
   */
  constructor(
    readonly subject: string,
    readonly req: IncomingMessage,
  ) {}
}

/** The logins of a process that run, and those that have just ended in success or a redirect: one for each browser. */
export class RunningLogins {
  readonly #byBrowser = new Map<string, RunningLogin>();

  of(browser: string): RunningLogin | undefined {
    return this.#byBrowser.get(browser);
  }

  begin(browser: string, subject: string, req: IncomingMessage): RunningLogin {
    const login = new RunningLogin(subject, req);
    this.#byBrowser.set(browser, login);
    const giveUp = (): void =>
      login.end({
        outcome: ['error', new Error(STUCK)],
        isDelivered: false,
        state: { attempts: [] },
      });
    const timer = setTimeout(giveUp, LONGEST).unref();
    void login.ended.then(({ outcome: [type] }) => {
      clearTimeout(timer);
      const forget = (): void => {
        if (this.of(browser) === login) this.#byBrowser.delete(browser);
      };
      // One that has failed can be tried again at once.
      if (type === 'success' || type === 'redirect') schedule(REMEMBERED, forget);
      else forget();
    });
    return login;
  }
}

/** What tells a browser from all others, as long as it has got no new cookie; `undefined` for one without cookies. */
export const browserOf = ({ headers: { cookie } }: IncomingMessage): string | undefined =>
  cookie ? hash('sha256', cookie, 'base64url') : undefined;

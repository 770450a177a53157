import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { schedule } from '../deadline.js';
import { lru } from '../lru.js';
import type { OpenLogin } from './login-state.js';

/** How a login ends, whose auth_key was exchanged. */
export type LoginEnd =
  /** The visitor is asked. */
  | { readonly attempt: OpenLogin; readonly asks: OpenLogin }
  /** Verify has given a user. */
  | {
      readonly asks?: undefined;
      readonly user: Express.User;
      readonly info: object;
      /** A hash of the `user_id`. */
      readonly account: string;
      /** Where the login leads. */
      readonly to: string | undefined;
    };

/** How long an end is remembered, in milliseconds. */
const REMEMBERED = 10_000;

/**
 * What a process remembers of the logins of one strategy.
 *
 * - What was used up: auth_keys, attempts and logins that waited. The service refuses a used auth_key for ever.
 * - How a login ended, for what comes twice. Browsers send a callback or a "Continue" twice, as do a service worker's
 *   preload, a double click and virus scanners, and keep one of the two responses. So both requests get the same end, and
 *   each completes the login by itself. A request is known again by its cookies and by what only the browser of that login
 *   has: the auth_key, or the id of the page that asks. The cookies alone would not do, because a stranger can have planted
 *   them.
 */
export class LoginMemory {
  readonly #used = lru<string, true>(10_000);
  readonly #ends = new Map<string, Promise<LoginEnd>>();
  /** Hosts on which logins have begun. */
  readonly hosts = lru<string, true>(100);

  isUsed(secret: string): boolean {
    return this.#used.has(nameOf(secret));
  }

  use(...secrets: readonly string[]): void {
    for (const secret of secrets) this.#used.set(nameOf(secret), true);
  }

  /** For what ended in an outage: the visitor can reload. */
  giveBack(...secrets: readonly string[]): void {
    for (const secret of secrets) this.#used.delete(nameOf(secret));
  }

  /** How a request that came before, with the same cookies and this secret, ends. */
  endOf(req: IncomingMessage, secret: string): Promise<LoginEnd> | undefined {
    return this.#ends.get(nameOf(secret, req.headers.cookie));
  }

  /** Remembers an end, for ten seconds after it. A failure is forgotten at once. */
  remember(req: IncomingMessage, secret: string, end: Promise<LoginEnd>): Promise<LoginEnd> {
    const name = nameOf(secret, req.headers.cookie);
    const forget = (): void => void this.#ends.delete(name);
    // Browsers without cookies are not told apart.
    if (req.headers.cookie) this.#ends.set(name, end);
    end.then(() => schedule(REMEMBERED, forget), forget);
    return end;
  }
}

const nameOf = (...parts: readonly (string | undefined)[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url');

const memories = new WeakMap<object, Map<string, LoginMemory>>();

/** The memory of the strategies with this client and this name: an app can make one for each request. */
export function memoryOf(loginApi: object, name: string): LoginMemory {
  const byName = memories.get(loginApi) ?? new Map<string, LoginMemory>();
  memories.set(loginApi, byName);
  const memory = byName.get(name) ?? new LoginMemory();
  byName.set(name, memory);
  return memory;
}

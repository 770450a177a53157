import { createHash } from 'node:crypto';
import { parseCookie } from 'cookie';
import type { Request, Response } from 'express';
import { secretOption, wrongOption } from '../options.js';
import {
  ATTEMPT_LIFETIME,
  type LoginAttempt,
  type LoginAttempts,
  readAttempts,
} from './login-attempts.js';

/** Browsers drop a cookie above 4,096 bytes; its name and attributes count. */
const LARGEST = 3800;

/**
 * Login attempts in one signed cookie, for apps without sessions. HttpOnly, so that no script reads
 * it; SameSite=Lax, so that it comes along when the service sends the browser back, and not with
 * what another site loads; and over https under a `__Host-` name, which no other host of the domain
 * can set.
 */
export class CookieAttempts implements LoginAttempts {
  readonly #signing: Uint8Array;
  readonly #keys: readonly Uint8Array[];
  // What was written answers later reads of the same request, whose header still has the old cookie.
  readonly #written = new WeakMap<Request, readonly LoginAttempt[]>();
  readonly #name: string;

  /**
   * @param secrets the first signs, all verify.
   * @param scope tells the strategies of one app apart, in the cookie's name and in its signature.
   */
  constructor(secrets: readonly [string, ...string[]], scope: string) {
    this.#name = `marketgate.login.${scope}`;
    this.#signing = keyOf(scope, secrets[0]);
    this.#keys = secrets.map((secret) => keyOf(scope, secret));
  }

  async read(req: Request): Promise<LoginAttempt[]> {
    const written = this.#written.get(req);
    if (written !== undefined) return [...written];
    const signed = parseCookie(req.headers.cookie ?? '')[this.#nameFor(req)];
    return signed ? this.#verify(signed) : [];
  }

  async write(req: Request, attempts: readonly LoginAttempt[]): Promise<void> {
    const { res } = req as { res?: Response };
    if (res === undefined)
      throw new Error('MarketplaceStrategy: the request has no response to set a cookie on');
    this.#written.set(req, attempts);
    const options = { httpOnly: true, sameSite: 'lax', secure: req.secure, path: '/' } as const;
    if (attempts.length === 0) {
      res.clearCookie(this.#nameFor(req), options);
      return;
    }
    res.cookie(this.#nameFor(req), await this.#sign(attempts), {
      ...options,
      maxAge: ATTEMPT_LIFETIME,
    });
  }

  #nameFor(req: Request): string {
    return `${req.secure ? '__Host-' : ''}${this.#name}`;
  }

  async #sign(attempts: readonly LoginAttempt[]): Promise<string> {
    const { CompactSign } = await import('jose');
    const payload = new TextEncoder().encode(JSON.stringify(attempts));
    const signed = await new CompactSign(payload)
      .setProtectedHeader({ alg: 'HS256' })
      .sign(this.#signing);
    // Long paths in many tabs: the oldest goes, as when there are too many.
    if (signed.length <= LARGEST) return signed;
    const [{ returnTo: _tooLong, ...first }, ...rest] = attempts as [
      LoginAttempt,
      ...LoginAttempt[],
    ];
    return this.#sign(rest.length === 0 ? [first] : rest);
  }

  async #verify(signed: string): Promise<LoginAttempt[]> {
    const { compactVerify } = await import('jose');
    for (const key of this.#keys) {
      try {
        const { payload } = await compactVerify(signed, key, { algorithms: ['HS256'] });
        return readAttempts(JSON.parse(new TextDecoder().decode(payload)));
      } catch {
        // Signed with another secret, or not by us: the next secret, or no attempt.
      }
    }
    return [];
  }
}

const keyOf = (scope: string, secret: string): Uint8Array =>
  createHash('sha256').update(`marketgate login attempts ${scope} ${secret}`).digest();

/** @throws TypeError that names the option. */
export function cookieSecrets(owner: string, option: unknown): readonly [string, ...string[]] {
  const name = 'loginAttempts.cookieSecret';
  const [first, ...others] = [option].flat();
  if (first === undefined) {
    throw wrongOption(owner, name, 'must be a secret, or several of which the first signs');
  }
  return [first, ...others].map((secret) => secretOption(owner, name, secret)) as [
    string,
    ...string[],
  ];
}

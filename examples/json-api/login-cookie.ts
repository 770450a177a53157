import { createHash } from 'node:crypto';
import { parseCookie } from 'cookie';
import type { Request, RequestHandler, Response } from 'express';
import { jwtVerify, SignJWT } from 'jose';
import type { Visitor } from './visitor.js';

/** How long a visitor stays logged in, in seconds. */
const LIFETIME = 2 * 3600;

const ISSUER = 'json-api';

/** Options of {@link LoginCookie}. */
export interface LoginCookieOptions {
  /** The first signs, all verify. */
  secrets: readonly string[];
  /** Only over https. */
  secure: boolean;
  /** The present as epoch milliseconds. */
  clock: () => number;
}

/**
 * What a session would be in another app: a signed statement of who the visitor is, kept by the
 * browser and by nobody else.
 *
 * - A JWT (RFC 7519), so that any language can read it. Signed and not encrypted: the visitor may read
 *   it, so nothing is in it that the visitor must not know. The access_token is not: it stays in the
 *   token store.
 * - HttpOnly, so that a script which got into a page cannot carry it away. That is why it is a cookie
 *   and not a bearer token in localStorage.
 * - SameSite=Lax: no other site's form or script sends it along, but a link to this site does.
 * - Short-lived, because a signature cannot be taken back. Who copied the cookie keeps it until then;
 *   routes that must end at once with the logout also ask the token store (`requireAccessToken`).
 */
export class LoginCookie {
  readonly #options: LoginCookieOptions;
  readonly #keys: readonly Uint8Array[];
  readonly #name: string;

  constructor(options: LoginCookieOptions) {
    this.#options = options;
    // A key for this purpose alone: the strategy signs its login attempts with the same secrets, and
    // what was signed as one thing must never pass as the other.
    this.#keys = options.secrets.map((secret) =>
      createHash('sha256').update(`${ISSUER} login ${secret}`).digest(),
    );
    // Browsers take a cookie of this prefix only from this very host, over https.
    this.#name = options.secure ? '__Host-login' : 'login';
  }

  /** Gives the browser its cookie. */
  async issue(res: Response, visitor: Visitor): Promise<void> {
    const [key] = this.#keys;
    if (key === undefined) throw new Error('LoginCookie: there is no secret to sign with');
    const now = Math.floor(this.#options.clock() / 1000);
    const token = await new SignJWT({ name: visitor.name })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(ISSUER)
      .setSubject(visitor.id)
      .setIssuedAt(now)
      .setExpirationTime(now + LIFETIME)
      .sign(key);
    res.cookie(this.#name, token, { ...this.#attributes(), maxAge: LIFETIME * 1000 });
  }

  /** Who the visitor is; `undefined` when the cookie is missing, over, or not signed by us. */
  async read(req: Request): Promise<Visitor | undefined> {
    const token = parseCookie(req.headers.cookie ?? '')[this.#name];
    if (!token) return undefined;
    for (const key of this.#keys) {
      try {
        const { payload } = await jwtVerify(token, key, {
          // Named, so that no header can choose another, "none" least of all.
          algorithms: ['HS256'],
          issuer: ISSUER,
          requiredClaims: ['exp', 'sub'],
          currentDate: new Date(this.#options.clock()),
        });
        return { id: payload.sub ?? '', name: String(payload.name ?? '') };
      } catch {
        // Signed with another secret, over, or not by us: the next secret, or nobody.
      }
    }
    return undefined;
  }

  /** Takes the cookie back. */
  clear(res: Response): void {
    res.clearCookie(this.#name, this.#attributes());
  }

  /** Puts the visitor at `req.user`, where passport would, for all routes behind it. */
  readLogin(): RequestHandler {
    return (req, _res, next) => {
      this.read(req).then((visitor) => {
        if (visitor !== undefined) req.user = visitor;
        next();
      }, next);
    };
  }

  #attributes() {
    return { httpOnly: true, sameSite: 'lax', secure: this.#options.secure, path: '/' } as const;
  }
}

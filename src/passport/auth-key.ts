import type { Request } from 'express';

/** What the callback's query says: nothing, a usable auth_key, or something broken, with the reason. */
export type AuthKeyInput =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly value: string }
  | { readonly kind: 'broken'; readonly why: string };

const broken = (why: string): AuthKeyInput => ({ kind: 'broken', why });

/** Reads `auth_key` once: with Express 5 `req.query` is parsed anew each time. */
export function readAuthKey(req: Request): AuthKeyInput {
  const query: Record<string, unknown> = req.query ?? {};
  const value = query.auth_key;
  // Express 5 leaves `auth_key[]=…` as the name of another parameter.
  if (Object.keys(query).some((name) => name.startsWith('auth_key['))) {
    return broken('auth_key must be given once');
  }
  if (value === undefined) {
    // The service appends "?auth_key=…" literally, also behind a query that is already there.
    const others = Object.values(query).flat();
    return others.some((other) => typeof other === 'string' && /\?auth_key=/.test(other))
      ? broken(
          'the redirect URL registered with the app has a query of its own, which the service breaks; register one without',
        )
      : { kind: 'none' };
  }
  if (typeof value !== 'string') return broken('auth_key must be given once');
  return value.trim() === '' ? broken('auth_key is empty') : { kind: 'key', value };
}

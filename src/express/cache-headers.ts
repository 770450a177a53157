import type { Response } from 'express';

/** The request headers that a code source reads. */
const headersOf = new WeakMap<object, readonly string[]>();

/** Of a guard without a `code` option: see {@link purchaseLookup}. */
const DEFAULT = ['X-Purchase-Code'];

/** Notes which request headers a source reads. */
export function readsHeaders<T extends object>(source: T, headers: readonly string[]): T {
  headersOf.set(source, headers);
  return source;
}

/** The request headers that the answer of a guarded route depends on. */
export const variesOn = (source: object | undefined): readonly string[] =>
  source === undefined ? DEFAULT : (headersOf.get(source) ?? []);

/**
 * What a guard lets through is not for shared caches: a proxy would give the customer's file to the next
 * visitor. An app that has set `Cache-Control` before knows better.
 */
export function keepPrivate(res: Response, headers: readonly string[]): void {
  if (!res.headersSent && !res.hasHeader('Cache-Control')) {
    res.setHeader('Cache-Control', 'private');
  }
  varyOn(res, headers);
}

/** What a guard refuses is not for any cache: the visitor may come back with a code. */
export function keepNowhere(res: Response): void {
  // Something else may have answered meanwhile, such as a timeout of the app.
  if (!res.headersSent) res.setHeader('Cache-Control', 'no-store');
}

/** Adds request headers to `Vary`. */
export function varyOn(res: Response, headers: readonly string[]): void {
  if (headers.length === 0 || res.headersSent) return;
  const vary = res.getHeader('Vary');
  if (vary === undefined) {
    res.setHeader('Vary', headers.join(', '));
    return;
  }
  const present = [vary].flat().map(String).join(', ');
  const known = present.toLowerCase().split(/\s*,\s*/);
  const more = headers.filter((name) => !known.includes(name.toLowerCase()));
  if (known.includes('*') || more.length === 0) return;
  res.setHeader('Vary', [present, ...more].filter(Boolean).join(', '));
}

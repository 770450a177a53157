import type { Request } from 'express';

/** What a browser goes to, and not what a page loads into itself. */
const NAVIGATIONS: ReadonlySet<string> = new Set(['document', 'iframe', 'frame']);

const header = (req: Request, name: string): string | undefined => {
  const value = req.headers?.[name];
  return typeof value === 'string' && value !== '' ? value.toLowerCase() : undefined;
};

/**
 * Whether a login was begun by neither a page of this site nor the visitor: by a page elsewhere, or by
 * a picture or a frame. Browsers say so over https and on localhost; where they do not, it is not known.
 */
export function isForeignStart(req: Request): boolean {
  const site = header(req, 'sec-fetch-site') ?? 'none';
  const destination = header(req, 'sec-fetch-dest') ?? 'document';
  return (site !== 'same-origin' && site !== 'none') || destination !== 'document';
}

/** Whether this is known to be no navigation: a picture, a script, a `fetch`. */
export const isSubresource = (req: Request): boolean =>
  !NAVIGATIONS.has(header(req, 'sec-fetch-dest') ?? 'document');

/**
 * Whether the browser fetches this page ahead of a click. What spends something must not be fetched
 * so: nobody has decided to go there yet.
 */
export const isPrefetch = (req: Request): boolean =>
  ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /prefetch|prerender|preview/i.test(String(req.headers?.[name] ?? '')),
  );

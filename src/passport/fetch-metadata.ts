import type { Request } from 'express';

/** `Sec-Fetch-Dest` of a page in a frame. */
const FRAMES: ReadonlySet<string> = new Set(['iframe', 'frame']);

const header = (req: Request, name: string): string | undefined => {
  const value = req.headers?.[name];
  return typeof value === 'string' && value !== '' ? value.toLowerCase() : undefined;
};

/**
 * Whether a login was begun by neither a page of this site nor the visitor: by a page elsewhere, or by
 * an image or a frame. Browsers send these headers over https and on localhost. Without them the answer
 * is no.
 */
export function isForeignStart(req: Request): boolean {
  const site = header(req, 'sec-fetch-site') ?? 'none';
  const destination = header(req, 'sec-fetch-dest') ?? 'document';
  return (site !== 'same-origin' && site !== 'none') || destination !== 'document';
}

/** Whether the browser loads this into a frame of another page. */
export const isFramed = (req: Request): boolean => FRAMES.has(header(req, 'sec-fetch-dest') ?? '');

/** Whether the browser says that this is no navigation but an image, a script or a `fetch`. */
export function isSubresource(req: Request): boolean {
  const destination = header(req, 'sec-fetch-dest') ?? 'document';
  if (destination === 'document' || FRAMES.has(destination)) return false;
  // A service worker that passes a navigation on sends "empty"; only the browser can set this mode.
  return destination !== 'empty' || header(req, 'sec-fetch-mode') !== 'navigate';
}

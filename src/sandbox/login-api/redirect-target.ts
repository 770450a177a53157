import type { Request } from 'express';
import { originOf } from '../origin.js';
import type { SeedApp } from '../seed/types.js';

const LOOPBACK = /^(?:localhost|(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

/** `/callback` on the page's origin, when a page on this machine (not the sandbox itself) led here. */
function callbackOfReferer(req: Request): string | undefined {
  const referer = req.headers.referer ?? '';
  if (!URL.canParse(referer)) return undefined;
  const { origin, hostname, protocol } = new URL(referer);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  if (!isWeb || !LOOPBACK.test(hostname) || origin === originOf(req)) return undefined;
  return `${origin}/callback`;
}

/**
 * Where an accepted login goes: the app's registered redirect URL. How it is registered is "not shown",
 * so an app without one is taken to live where the browser came from, if that is this machine.
 */
export const redirectTarget = (app: Readonly<SeedApp>, req: Request): string | undefined =>
  app.redirect_url ?? callbackOfReferer(req);

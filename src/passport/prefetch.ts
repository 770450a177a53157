import type { Request } from 'express';

/**
 * Whether the browser fetches this page ahead of a click. What spends something must not be fetched
 * so: nobody has decided to go there yet.
 */
export const isPrefetch = (req: Request): boolean =>
  ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /prefetch|prerender|preview/i.test(String(req.headers?.[name] ?? '')),
  );

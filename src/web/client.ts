import type { Request } from 'express';
import { UNKNOWN_CLIENT } from '../attempts/client-key.js';
import { warnOnce } from '../diagnostics.js';
import { type AppId, functionOf, idText } from '../options.js';

/**
 * Who is counted by the `guessLimit` of the client of the service. Default: `req.ip`, which needs Express's `trust proxy`
 * behind a proxy, or the socket's address where there is no `req.ip`; that counts also where the function gives nothing.
 * `false`: nobody. An IPv6 address counts with its whole /56, because a visitor usually has that many.
 */
export type ClientOption = ((req: Request) => AppId) | false | undefined;

/** Checks the option. Gives the function that says who is counted; `false`: nobody. @throws TypeError that names it. */
export function clientOption(owner: string, option: ClientOption): (req: Request) => AppId {
  if (option === false) return () => false;
  const own = functionOf<(req: Request) => AppId>()(owner, 'client', option);
  return (req) => {
    const given = own?.(req);
    if (given === false) return false;
    const address = req.ip ?? req.socket?.remoteAddress;
    const client = idText(owner, 'client', given) ?? address;
    if (client === address) checkAddress(req, address);
    return client ?? UNKNOWN_CLIENT;
  };
}

/** Warns when all visitors count as one client, or when visitors can choose their address. */
function checkAddress(req: Request, address: string | undefined): void {
  const trust: unknown = req.app?.get?.('trust proxy');
  if (trust === true) warnOnce('MARKETGATE_PERMISSIVE_TRUST_PROXY');
  else if (!trust && req.headers['x-forwarded-for'] !== undefined) {
    warnOnce('MARKETGATE_UNEXPECTED_X_FORWARDED_FOR');
  }
  // A visitor who has left has no address any more.
  if (!address && !req.socket?.destroyed) warnOnce('MARKETGATE_NO_CLIENT_ADDRESS');
}

import type { Request } from 'express';
import { warnOnce } from '../diagnostics.js';
import { type AppId, functionOf, idText, UNKNOWN_CLIENT } from '../options.js';

/**
 * Who is counted by the `guessLimit` of the client of the service. Default: `req.ip`, which needs Express's `trust proxy`
 * behind a proxy, or the socket's address where there is no `req.ip`; that counts also where the function gives nothing.
 * `false`: nobody. An IPv6 address counts with its whole /56, because a visitor usually has that many.
 */
export type ClientOption = ((req: Request) => AppId) | false | undefined;

/** Checks the option. Gives the function that says who is counted; `false`: nobody. @throws TypeError that names it. */
export function clientOption(
  owner: string,
  name: string,
  option: unknown,
): (req: Request) => AppId {
  if (option === false) return () => false;
  const own = functionOf<(req: Request) => AppId>()(owner, name, option);
  const noteForwarded = sharedAddressNoticer();
  return (req) => {
    const given = own?.(req);
    if (given === false) return false;
    const address = req.ip ?? req.socket?.remoteAddress;
    const client = idText(owner, name, given) ?? address;
    if (client === address) checkAddress(req, address, noteForwarded);
    return client ?? UNKNOWN_CLIENT;
  };
}

/** Warns when all visitors count as one client, or when visitors can choose their address. */
function checkAddress(
  req: Request,
  address: string | undefined,
  noteForwarded: (address: string, forwarded: string) => void,
): void {
  // A visitor who has left has no address any more.
  if (!address && !req.socket?.destroyed) warnOnce('MARKETGATE_NO_CLIENT_ADDRESS');
  const trust: unknown = req.app?.get?.('trust proxy');
  const forwarded = req.headers['x-forwarded-for'];
  if (trust === true) warnOnce('MARKETGATE_PERMISSIVE_TRUST_PROXY');
  else if (forwarded === undefined) return;
  else if (!trust) warnOnce('MARKETGATE_UNEXPECTED_X_FORWARDED_FOR');
  else if (address) noteForwarded(address, String(forwarded));
}

/** How many addresses are remembered. */
const MAX_ADDRESSES = 1000;

/**
 * Makes the function that warns at the third forwarded address behind one client. That is what one proxy more than "trust
 * proxy" says looks like, and sometimes an office whose proxy passes on the addresses of its machines.
 */
function sharedAddressNoticer() {
  const behind = new Map<string, Set<string>>();
  return (address: string, header: string): void => {
    const [first = ''] = header.split(',', 1);
    const forwarded = first.trim();
    if (forwarded === address || forwarded === '') return;
    if (behind.size >= MAX_ADDRESSES) behind.clear();
    const others = behind.get(address) ?? new Set();
    behind.set(address, others);
    if (others.size < 3) others.add(forwarded);
    if (others.size === 3) warnOnce('MARKETGATE_SHARED_CLIENT_ADDRESS');
  };
}

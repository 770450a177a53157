import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/** Bits of an IPv6 address that tell customers of a provider apart. */
const IPV6_BYTES = 7;

/** Who a request is counted for, by Express's own idea of its address. */
export const byAddress = (req: Request): string | undefined => req.ip;

/**
 * The name under which a guesser is counted. An IPv6 address is cut to its /56, for one visitor has
 * at least that many; an IPv4 address inside an IPv6 one is itself. Anything else is a name of the
 * app's own.
 */
export function guesserName(who: string | undefined): string {
  if (who === undefined || who === '') return 'unknown';
  // Only what is written as an address: "012" is a name, though old notations read it as one.
  if (isIP(who) === 0) return who;
  const address = ipaddr.process(who);
  if (address.kind() === 'ipv4') return address.toString();
  return `${Buffer.from(address.toByteArray().slice(0, IPV6_BYTES)).toString('hex')}/56`;
}

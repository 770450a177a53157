import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/** Bytes of an IPv6 address that tell customers of a provider apart. */
const IPV6_BYTES = 7;

/** The client's address: by Express's own idea of it, or where there is none that of the socket. */
export const clientAddress = (req: Request): string | undefined =>
  req.ip ?? req.socket?.remoteAddress;

/**
 * The name under which a client is counted. An IPv6 address is cut to its /56, for one client has
 * at least that many; an IPv4 address inside an IPv6 one is itself. Anything else is a name of the
 * app's own.
 */
export function clientName(client: string | undefined): string {
  if (client === undefined || client === '') return 'unknown';
  // Only what is written as an address: "012" is a name, though old notations read it as one.
  if (isIP(client) === 0) return client;
  const address = ipaddr.process(client);
  if (address.kind() === 'ipv4') return address.toString();
  return `${Buffer.from(address.toByteArray().slice(0, IPV6_BYTES)).toString('hex')}/56`;
}

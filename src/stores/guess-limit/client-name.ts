import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Bytes of an IPv6 address that tell customers of a provider apart. */
const IPV6_BYTES = 7;

/**
 * The name under which a client is counted. An IPv6 address is cut to its /56, because one client has
 * at least that many; an IPv4 address inside an IPv6 one is itself. Anything else is a name that the
 * app chose.
 *
 * @throws TypeError for what is no name: all clients would be one, or each request another.
 */
export function clientName(client: unknown): string {
  if (client === undefined || client === '') return 'unknown';
  if (typeof client === 'number') return String(client);
  if (typeof client !== 'string') {
    throw new TypeError(
      'guessLimit: "keyGenerator" must return a string, a number or undefined, and no Promise',
    );
  }
  // Only what is written as an address: "012" is a name, though old notations read it as one.
  if (isIP(client) === 0) return client;
  const address = ipaddr.process(client);
  if (address.kind() === 'ipv4') return address.toString();
  return `${Buffer.from(address.toByteArray().slice(0, IPV6_BYTES)).toString('hex')}/56`;
}

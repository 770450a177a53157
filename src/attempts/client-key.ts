import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Who is counted where the client is not known. */
export const UNKNOWN_CLIENT = 'unknown';

/** The most characters of a client key; longer ones are hashed. */
const MAX_LENGTH = 128;

/** Bytes of an IPv6 address that distinguish customers of a provider: a /56. */
const IPV6_BYTES = 7;

/**
 * The key under which a client is counted: the /56 of an IPv6 address, an IPv4 address also where it is
 * written inside an IPv6 one, both without a port, and any other name as it is.
 */
export function clientKey(client: string): string {
  // Memory holds the key, and an app can take it from a header.
  if (client.length > MAX_LENGTH) return hash('sha256', client, 'base64url');
  // Some proxies add the port, which is another one for each connection.
  const bare = client.replace(/^(?:\[([\da-f:.]+)\](?::\d+)?|([\d.]+):\d+)$/i, '$1$2');
  // "012" is a name, although some notations read it as an address.
  if (isIP(bare) === 0) return client;
  // The zone of a link-local address, as in `%br-lan`, is a name of this machine's.
  const address = ipaddr.process(bare.replace(/%.*/, ''));
  if (address.kind() === 'ipv4') return address.toString();
  return `${Buffer.from(address.toByteArray().slice(0, IPV6_BYTES)).toString('hex')}/56`;
}

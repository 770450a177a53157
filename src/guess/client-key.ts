import { hash } from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The most characters of a client key; longer ones are hashed. */
const MAX_LENGTH = 128;

/** Bytes of an IPv6 address that distinguish customers of a provider: a /56. */
const IPV6_BYTES = 7;

/**
 * The first 96 bits of the IPv6 addresses that have an IPv4 address in the others, in hex: compatible (`::1.2.3.4`), mapped
 * (`::ffff:1.2.3.4`, RFC 4291), translated (`::ffff:0:1.2.3.4`, RFC 2765), and NAT64 (`64:ff9b::1.2.3.4`, RFC 6052, and
 * `64:ff9b:1::/48`, RFC 8215).
 */
const HAS_IPV4 = /^(?:0{24}|0{20}ffff|0{16}ffff0{4}|0064ff9b(?:0{16}|0001.{12}))$/;

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
  if (isIPv4(bare)) return bare;
  // The zone of a link-local address, as in `%br-lan`, is a name of this machine's.
  const bytes = Buffer.from(ipaddr.parse(withoutDots(bare.replace(/%.*/, ''))).toByteArray());
  const ipv4 = bytes.subarray(12);
  // `::` and `::1` have none.
  if (HAS_IPV4.test(bytes.toString('hex', 0, 12)) && ipv4[0] !== 0) return ipv4.join('.');
  return `${bytes.toString('hex', 0, IPV6_BYTES)}/56`;
}

/** An IPv6 address whose end is written as an IPv4 one, in hex: ipaddr.js reads that after few prefixes. */
const withoutDots = (address: string): string =>
  address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a, b] = [0, 2].map((at) =>
      (Number(bytes[at]) * 256 + Number(bytes[at + 1])).toString(16),
    );
    return `${a}:${b}`;
  });

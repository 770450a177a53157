import { expect, it } from 'vitest';
import { clientKey } from '../../../src/guess/client-key.js';

it.each([
  ...['203.0.113.9:50001', '[203.0.113.9]', '[::FFFF:203.0.113.9]:50001', '::ffff:cb00:7109'],
  ...['::203.0.113.9', '64:ff9b::203.0.113.9', '64:ff9b::cb00:7109', '64:ff9b:1::203.0.113.9'],
  ...['64:ff9b:1:ab:cd:ef:203.0.113.9', '::ffff:0:203.0.113.9'],
])('an IPv4 address is one client, also written as %s', (address) => {
  expect(clientKey(address)).toBe('203.0.113.9');
});

it.each([
  ['2001:db8:1:200::', '2001:db8:1:2ff:ffff::9', true],
  ['2001:db8:1:200::', '2001:0db8:0001:0200:0:0:0:9', true],
  ['2001:db8:1:200::', '[2001:db8:1:200::9]:50001', true],
  ['2001:db8:1:200::', '2001:db8:1:300::1', false],
  ['2001:db8:5::1', '2001:db8:5::198.51.100.7%eth0', true],
  ['fe80::1%br-lan', 'fe80::2%br-lan', true],
  ['::1', '::', true],
])('an IPv6 address counts with its /56: %s and %s are one client: %s', (one, other, isOne) => {
  expect(clientKey(one) === clientKey(other)).toBe(isOne);
});

it.each(['10', '012', '0xa', '[::1]x', 'x[::1]', '[10]', '1.2:3', 'x'.repeat(128)])(
  'a name is itself, also where some notations would read an address: %s',
  (name) => {
    expect(clientKey(name)).toBe(name);
  },
);

it('a long name counts by its hash', () => {
  expect(clientKey('x'.repeat(129))).toMatch(/^[\w-]{43}$/);
  expect(clientKey('x'.repeat(129))).not.toBe(clientKey('x'.repeat(130)));
});

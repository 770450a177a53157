import { expect, it } from 'vitest';
import { Seal } from '../../../src/cache/seal.js';

const SECRET = 'a secret';
const CONTEXT = 'https://market.example';
const sealer = new Seal(SECRET, CONTEXT);
const bytesOf = (sealed: string): Buffer => Buffer.from(sealed.slice(2), 'base64url');
const textOf = (bytes: Buffer): string => `1.${bytes.toString('base64url')}`;

it.each(['', 'x', '{"at":1}', 'Ferforje kapı 🪟'])('%j opens elsewhere as it was', (text) => {
  const sealed = sealer.seal('name', text);
  expect(new Seal(SECRET, CONTEXT).open('name', sealed)).toBe(text);
  expect(sealer.seal('name', text)).not.toBe(sealed);
});

it('a name is the same everywhere, and another one with another key, secret or context', () => {
  const same = new Seal(SECRET, CONTEXT).name('a');
  expect(sealer.name('a')).toBe(same);
  const others = [sealer.name('b'), new Seal('other', CONTEXT).name('a')];
  expect([...others, new Seal(SECRET, 'another shop').name('a')]).not.toContain(same);
});

it('what is sealed stays readable from one release to the next', () => {
  expect(sealer.name('purchase a')).toBe('D9OPE4IswugQDPWmPGv5CBV_z9_72FXZDcRXsRalEDg');
  expect(sealer.open('name', '1.9bCU0AxOFTsGZQQl5zU6CUslvn2YF_tViXvxW7E')).toBe('x');
});

const sealed = sealer.seal('name', 'text');

it.each([
  ['under another name', 'other', sealed],
  ['without its version', 'name', sealed.slice(2)],
  ['of another version', 'name', `2.${sealed.slice(2)}`],
  ['with something behind it', 'name', `${sealed}.x`],
  ['with something ahead of it', 'name', `x${sealed}`],
  ['of nothing but a version', 'name', '1.'],
  ['cut to a nonce and a tag', 'name', textOf(bytesOf(sealed).subarray(0, 28))],
  ['shorter than a nonce and a tag', 'name', textOf(bytesOf(sealed).subarray(0, 27))],
  ['without a tag', 'name', textOf(bytesOf(sealed).subarray(0, 12))],
])('a text %s does not open', (_name, name, text) => {
  expect(sealer.open(name, text)).toBeUndefined();
});

it('a text with any of its bytes changed, or under another secret or context, does not open', () => {
  const bytes = bytesOf(sealed);
  for (let i = 0; i < bytes.length; i++) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(i) ^ 1, i);
    expect(sealer.open('name', textOf(changed))).toBeUndefined();
  }
  expect(new Seal('other', CONTEXT).open('name', sealed)).toBeUndefined();
  expect(new Seal(SECRET, 'another shop').open('name', sealed)).toBeUndefined();
});

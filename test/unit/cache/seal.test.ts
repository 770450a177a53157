import { expect, it } from 'vitest';
import { Seal } from '../../../src/cache/seal.js';

const sealer = new Seal('a secret', 'https://market.example');
const others = [new Seal('other', 'https://market.example'), new Seal('a secret', 'another shop')];

it('a name and a value are the same in every process and from one release to the next', () => {
  expect(sealer.name('purchase a')).toBe('D9OPE4IswugQDPWmPGv5CBV_z9_72FXZDcRXsRalEDg');
  expect(sealer.open('name', '1.9bCU0AxOFTsGZQQl5zU6CUslvn2YF_tViXvxW7E')).toBe('x');
});

it('names of another key, secret or context differ', () => {
  const names = [sealer.name('a'), sealer.name('b'), ...others.map((each) => each.name('a'))];
  expect(new Set(names).size).toBe(4);
});

it('a text that was changed, cut or extended, or sealed for another name, secret or context, does not open', () => {
  const sealed = sealer.seal('name', 'Ferforje kapı 🪟');
  expect(sealer.open('name', sealed)).toBe('Ferforje kapı 🪟');
  const bytes = Buffer.from(sealed.slice(2), 'base64url');
  const textOf = (part: Buffer) => `1.${part.toString('base64url')}`;
  const wrong = ['', '1.', sealed.slice(2), `2.${sealed.slice(2)}`, `${sealed}.x`, `x${sealed}`];
  for (const end of [12, 27, 28, bytes.length - 1]) wrong.push(textOf(bytes.subarray(0, end)));
  for (const i of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(i) ^ 1, i);
    wrong.push(textOf(changed));
  }
  for (const text of wrong) expect(sealer.open('name', text)).toBeUndefined();
  expect(sealer.open('other', sealed)).toBeUndefined();
  for (const other of others) expect(other.open('name', sealed)).toBeUndefined();
});

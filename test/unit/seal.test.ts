import { expect, it } from 'vitest';
import { Seal } from '../../src/seal.js';

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

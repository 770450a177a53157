import { describe, expect, it } from 'vitest';
import { Seal } from '../../../src/cache/seal.js';

const SECRET = 'a secret';
const CONTEXT = 'https://market.example';
const sealer = new Seal(SECRET, CONTEXT);
const bytesOf = (sealed: string): Buffer => Buffer.from(sealed.slice(2), 'base64url');
const textOf = (bytes: Buffer): string => `2.${bytes.toString('base64url')}`;

describe('what is sealed', () => {
  it.each(['', 'x', '{"at":1}', 'Ferforje kapı 🪟'])('opens elsewhere as it was: %j', (text) => {
    const sealed = sealer.seal('name', text);
    expect(new Seal(SECRET, CONTEXT).open('name', sealed)).toBe(text);
    // Version, nonce of 12 bytes, the text, tag of 16.
    expect(sealed).toMatch(/^2\.[\w-]+$/);
    expect(bytesOf(sealed)).toHaveLength(12 + Buffer.byteLength(text) + 16);
  });

  it('is never the same twice, while its name always is', () => {
    expect(sealer.seal('name', 'x')).not.toBe(sealer.seal('name', 'x'));
    expect(sealer.name('a')).toBe(new Seal(SECRET, CONTEXT).name('a'));
    expect(sealer.name('a')).toMatch(/^[\w-]{43}$/);
    expect(new Set(['a', 'b', ''].map((key) => sealer.name(key))).size).toBe(3);
    expect(sealer.name('a')).not.toBe(new Seal('other', CONTEXT).name('a'));
    expect(sealer.name('a')).not.toBe(new Seal(SECRET, 'another shop').name('a'));
  });

  it('stays readable from one release to the next', () => {
    expect(sealer.name('purchase a')).toBe('e982z3TUG-F2NNu5b9zEvvzBlWgUQRTxXqAda2kQjL8');
    expect(sealer.open('name', '2.M__0P0SStjAK9hW5uvkXcdmuIn4hlSMhtmzbPlY')).toBe('x');
  });
});

describe('what is not opened', () => {
  const sealed = sealer.seal('name', 'text');
  it.each([
    ['under another name', 'other', sealed],
    ['without its version', 'name', sealed.slice(2)],
    ['of another version', 'name', `1.${sealed.slice(2)}`],
    ['with something behind it', 'name', `${sealed}.x`],
    ['with something ahead of it', 'name', `x${sealed}`],
    ['of nothing but a version', 'name', '2.'],
    ['cut to a nonce and a tag', 'name', textOf(bytesOf(sealed).subarray(0, 28))],
    ['shorter than a nonce and a tag', 'name', textOf(bytesOf(sealed).subarray(0, 27))],
    ['without a tag', 'name', textOf(bytesOf(sealed).subarray(0, 12))],
  ])('%s', (_name, name, text) => {
    expect(sealer.open(name, text)).toBeUndefined();
  });

  it('with any of its bytes changed', () => {
    const bytes = bytesOf(sealed);
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(i) ^ 1, i);
      expect(sealer.open('name', textOf(changed))).toBeUndefined();
    }
  });

  it('with another secret', () => {
    expect(new Seal('other', CONTEXT).open('name', sealed)).toBeUndefined();
    expect(new Seal(SECRET, 'another shop').open('name', sealed)).toBeUndefined();
  });
});

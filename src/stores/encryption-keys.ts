import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import { wrongOption } from '../options.js';

/** A key to encrypt with: 32 random bytes, or these in base64 or base64url. */
export type EncryptionKey = string | Uint8Array;

/** A key as it is held: `KeyObject` shows no bytes in `inspect` and JSON. */
export interface KnownKey {
  /** Names the key in what it made; a hash, from which nobody gets back to the key. */
  readonly id: string;
  readonly key: KeyObject;
}

const BYTES = 32;

/**
 * The keys of the option `keys`, the one that writes first.
 *
 * @throws TypeError that names the option and the place of the wrong key, never the key.
 */
export function readKeys(owner: string, option: unknown): readonly [KnownKey, ...KnownKey[]] {
  if (!Array.isArray(option)) {
    throw wrongOption(owner, 'keys', 'must be an array of keys, the one that writes first');
  }
  const [first, ...others] = option.map((key: unknown, index) =>
    readKey(owner, `keys[${index}]`, key),
  );
  if (first === undefined) throw wrongOption(owner, 'keys', 'must hold at least one key');
  return [first, ...others];
}

function readKey(owner: string, name: string, option: unknown): KnownKey {
  const bytes = typeof option === 'string' ? fromBase64(owner, name, option) : option;
  if (!(bytes instanceof Uint8Array)) {
    throw wrongOption(owner, name, `must be ${BYTES} bytes as a Buffer, or as base64 text`);
  }
  if (bytes.byteLength !== BYTES) {
    throw wrongOption(owner, name, `must be ${BYTES} bytes long, and is ${bytes.byteLength}`);
  }
  const id = createHash('sha256').update('marketgate key id\0').update(bytes).digest('base64url');
  return { id: id.slice(0, 16), key: createSecretKey(bytes) };
}

function fromBase64(owner: string, name: string, text: string): Uint8Array {
  // `Buffer.from` skips what is not base64, and would make a key out of a typing error.
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) {
    throw wrongOption(owner, name, `must be base64 or base64url of ${BYTES} bytes`);
  }
  return Buffer.from(text, 'base64');
}

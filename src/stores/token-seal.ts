import type * as Jose from 'jose';
import type { AccessToken } from '../model/access-token.js';
import type { KnownKey } from './encryption-keys.js';
import { decodeToken, encodeToken } from './stored-token.js';

// Loaded with the first token and not with the package: most apps encrypt nothing.
let loading: Promise<typeof Jose> | undefined;
function jose(): Promise<typeof Jose> {
  loading ??= import('jose');
  return loading;
}

/** Seals tokens into compact JWEs (`dir`, `A256GCM`) for one user each, and opens them again. */
export class TokenSeal {
  readonly #keys: readonly [KnownKey, ...KnownKey[]];

  /** @param keys the first seals, all open. */
  constructor(keys: readonly [KnownKey, ...KnownKey[]]) {
    this.#keys = keys;
  }

  async seal(userId: string, token: AccessToken): Promise<string> {
    const { CompactEncrypt } = await jose();
    const content = encodeToken(userId, token);
    const [{ id, key }] = this.#keys;
    return new CompactEncrypt(new TextEncoder().encode(content))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: id })
      .encrypt(key);
  }

  /** The token, or `undefined`: tampered with, another user's, made with another key, or no JWE. */
  async open(userId: string, jwe: string): Promise<AccessToken | undefined> {
    return decodeToken(userId, await this.#decrypt(jwe));
  }

  async #decrypt(jwe: string): Promise<string | undefined> {
    const { compactDecrypt, decodeProtectedHeader } = await jose();
    let kid: unknown;
    try {
      ({ kid } = decodeProtectedHeader(jwe));
    } catch {
      return undefined;
    }
    // The key that is named comes first; the name is only a hint, so the others are tried as well.
    const named = this.#keys.filter(({ id }) => id === kid);
    const others = this.#keys.filter(({ id }) => id !== kid);
    for (const { key } of [...named, ...others]) {
      try {
        const { plaintext } = await compactDecrypt(jwe, key, {
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
        });
        return new TextDecoder().decode(plaintext);
      } catch {
        // Not this key.
      }
    }
    return undefined;
  }
}

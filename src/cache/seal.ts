import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/** Of the format; anything else is not opened. */
const VERSION = '2.';
const NONCE = 12;
const TAG = 16;

/**
 * Encrypts and authenticates a text (AES-256-GCM) for one name: it opens under no other.
 *
 * @param key - 32 bytes.
 */
export function sealText(key: Buffer | KeyObject, name: string, text: string): string {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(name));
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final()]);
  return `${VERSION}${Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url')}`;
}

/** The text, or `undefined` for what was not sealed with this key for this name. */
export function openText(
  key: Buffer | KeyObject,
  name: string,
  sealed: string,
): string | undefined {
  if (!sealed.startsWith(VERSION) || sealed.includes('.', VERSION.length)) return undefined;
  const bytes = Buffer.from(sealed.slice(VERSION.length), 'base64url');
  if (bytes.length < NONCE + TAG) return undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE), {
      authTagLength: TAG,
    })
      .setAAD(Buffer.from(name))
      .setAuthTag(bytes.subarray(-TAG));
    const text = decipher.update(bytes.subarray(NONCE, -TAG));
    // Checks the tag; GCM holds nothing back that would come only now.
    decipher.final();
    return text.toString('utf8');
  } catch {
    return undefined;
  }
}

/**
 * What a shared cache sees instead of codes and purchases: names are HMACs, and values are sealed for the
 * one name they were made for. Nobody who can read there learns anything, and nobody who can write there
 * can make up a purchase or give one code another's.
 */
export class Seal {
  readonly secret: string;
  readonly #nameKey: Buffer;
  readonly #valueKey: Buffer;

  /**
   * @param context - binds names and values to the service's address and the account, so that two shops
   * on one Redis never read each other's answers.
   */
  constructor(secret: string, context: string) {
    this.secret = secret;
    const info = `marketgate shared cache 2 ${hash('sha256', context, 'base64url')}`;
    const keys = Buffer.from(hkdfSync('sha256', secret, 'marketgate', info, 64));
    this.#nameKey = keys.subarray(0, 32);
    this.#valueKey = keys.subarray(32);
  }

  /** The name of a key, the same in every process with this secret and context. */
  name(key: string): string {
    return createHmac('sha256', this.#nameKey).update(key).digest('base64url');
  }

  seal(name: string, text: string): string {
    return sealText(this.#valueKey, name, text);
  }

  /** The text, or `undefined` for what was not sealed with this secret for this name. */
  open(name: string, sealed: string): string | undefined {
    return openText(this.#valueKey, name, sealed);
  }
}

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/** Of the format. A text of another version does not open. */
const VERSION = '1.';
const NONCE = 12;
const TAG = 16;

/** Encrypts and authenticates a text (AES-256-GCM, with a key of 32 bytes) for one name: it opens under no other. */
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
    const nonce = bytes.subarray(0, NONCE);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG });
    decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(-TAG));
    const text = decipher.update(bytes.subarray(NONCE, -TAG));
    // Checks the tag. In GCM, `final` returns no more text.
    decipher.final();
    return text.toString('utf8');
  } catch {
    return undefined;
  }
}

/**
 * Hides codes and purchases from the shared cache: names are HMACs, and each value is sealed for one name. So
 * write access is not enough to make up a purchase, or to give one code the purchase of another.
 */
export class Seal {
  readonly #nameKey: KeyObject;
  readonly #valueKey: KeyObject;

  /**
   * @param secret - the api_key. @param service - its address. Two shops on one Redis differ in one of them, and never read each
   * other's answers.
   */
  constructor(
    readonly secret: string,
    service: string,
  ) {
    const info = `marketgate shared cache ${hash('sha256', service, 'base64url')}`;
    const keys = Buffer.from(hkdfSync('sha256', secret, 'marketgate', info, 64));
    this.#nameKey = createSecretKey(keys.subarray(0, 32));
    this.#valueKey = createSecretKey(keys.subarray(32));
  }

  /** The name of a key, the same in every process with this secret and service. */
  name(key: string): string {
    return createHmac('sha256', this.#nameKey).update(key).digest('base64url');
  }

  seal(name: string, text: string): string {
    return sealText(this.#valueKey, name, text);
  }

  open(name: string, sealed: string): string | undefined {
    return openText(this.#valueKey, name, sealed);
  }
}

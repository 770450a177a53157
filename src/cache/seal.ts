import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
} from 'node:crypto';

/** Of the format; a process that does not know it ignores the value. */
const PREFIX = '2.';
const NONCE = 12;
const TAG = 16;

/**
 * What a shared cache is shown instead of codes and purchases. Names are HMACs, and values are
 * encrypted and authenticated (AES-256-GCM) for the one name they were made for: whoever can read there
 * learns nothing, and whoever can write there can neither make up a purchase nor give one code another's.
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
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv('aes-256-gcm', this.#valueKey, nonce).setAAD(Buffer.from(name));
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final()]);
    return `${PREFIX}${Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url')}`;
  }

  /** The text, or `undefined` for what was not sealed with this secret for this name. */
  open(name: string, sealed: string): string | undefined {
    if (!sealed.startsWith(PREFIX) || sealed.includes('.', PREFIX.length)) return undefined;
    const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64url');
    if (bytes.length < NONCE + TAG) return undefined;
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#valueKey, bytes.subarray(0, NONCE), {
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
}

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

const IV = 12;
const TAG = 16;

/**
 * What the one secret of the app is used for, each with a key of its own: what was made for one purpose
 * must never pass for another.
 */
export class Secrets {
  readonly #keys: Readonly<Record<'name' | 'seal' | 'sign', Buffer>>;

  constructor(secret: string) {
    const key = (purpose: string) =>
      Buffer.from(hkdfSync('sha256', secret, '', `downloads ${purpose}`, 32));
    this.#keys = { name: key('name'), seal: key('seal'), sign: key('sign') };
  }

  /** A name for a purchase code that always comes out the same, and that nobody can turn back. */
  nameOf(code: string): string {
    return createHmac('sha256', this.#keys.name).update(code).digest('base64url').slice(0, 22);
  }

  /** A purchase code for the file: it must be read again, but not by who finds the file. */
  seal(code: string, owner: string): string {
    const iv = randomBytes(IV);
    const cipher = createCipheriv('aes-256-gcm', this.#keys.seal, iv).setAAD(Buffer.from(owner));
    const sealed = Buffer.concat([iv, cipher.update(code, 'utf8'), cipher.final()]);
    return Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** @throws Error when it was not sealed by us, for this owner. */
  unseal(sealed: string, owner: string): string {
    const bytes = Buffer.from(sealed, 'base64url');
    const iv = bytes.subarray(0, IV);
    const decipher = createDecipheriv('aes-256-gcm', this.#keys.seal, iv, { authTagLength: TAG });
    decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-TAG));
    return Buffer.concat([decipher.update(bytes.subarray(IV, -TAG)), decipher.final()]).toString();
  }

  sign(text: string): string {
    return createHmac('sha256', this.#keys.sign).update(text).digest('base64url');
  }

  /** In a time that tells nothing about how much of it is right. */
  isSigned(text: string, signature: string): boolean {
    const [right, given] = [this.sign(text), signature].map((each) => Buffer.from(each));
    return right !== undefined && given?.length === right.length && timingSafeEqual(right, given);
  }
}

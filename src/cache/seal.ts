import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { within } from '../deadline.js';

/** Of the format. A text of another version does not open. */
const VERSION = '2.';
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
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE), {
      authTagLength: TAG,
    })
      .setAAD(Buffer.from(name))
      .setAuthTag(bytes.subarray(-TAG));
    const text = decipher.update(bytes.subarray(NONCE, -TAG));
    // Checks the tag. In GCM, `final` returns no more text.
    decipher.final();
    return text.toString('utf8');
  } catch {
    return undefined;
  }
}

/**
 * Hides codes and purchases from the shared cache: names are HMACs, and each value is sealed for one name.
 * Read access to the cache reveals nothing. Write access is not enough to make up a purchase, or to give one
 * code the purchase of another.
 */
export class Seal {
  readonly #nameKey: Buffer;
  readonly #valueKey: Buffer;

  /**
   * @param context - binds names and values to the service's address and the account, so that two shops
   * on one Redis never read each other's answers.
   */
  constructor(
    readonly secret: string,
    context: string,
  ) {
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

  open(name: string, sealed: string): string | undefined {
    return openText(this.#valueKey, name, sealed);
  }
}

/** Secrets that invalidations are sealed with, because some processes can still use an earlier one. */
const MAX_SEALS = 3;
/** How long a call waits for the current secret where an earlier one is known, in milliseconds. */
const SHORT_WAIT = 1;

export class Seals {
  /** The newest first. */
  all: readonly Seal[] = [];
  /** Numbers of calls that wait for a secret: the last one, and the last whose secret is used. */
  #lastBegun = 0;
  #lastUsed = 0;

  /**
   * @param patience - how long a call waits for the first secret, in milliseconds.
   * @param onChange - called when there is a first or a new secret.
   */
  constructor(
    private readonly secret: () => string | Promise<string>,
    private readonly context: string,
    private readonly patience: number,
    private readonly onChange: () => void,
  ) {}

  /** That of the current secret, as far as it is known. */
  get newest(): Seal | undefined {
    return this.all[0];
  }

  /**
   * The current one. A secret that takes longer is used as soon as it is known. Until then the seal before
   * it is used; `undefined`: there is none.
   */
  current(): Seal | Promise<Seal | undefined> {
    const secret = this.secret();
    if (typeof secret === 'string') return this.#use(secret);
    const used = this.#whenKnown(secret);
    const wait = this.newest ? SHORT_WAIT : this.patience;
    return within(wait, () => used).catch(() => this.newest);
  }

  /** Waits for the current secret, however long it takes. */
  async refresh(): Promise<void> {
    await this.#whenKnown(this.secret());
  }

  async #whenKnown(secret: string | Promise<string>): Promise<Seal | undefined> {
    const begun = ++this.#lastBegun;
    const known = await secret;
    // A later call can have got its secret first.
    if (begun < this.#lastUsed) return this.newest;
    this.#lastUsed = begun;
    return this.#use(known);
  }

  #use(secret: string): Seal {
    if (this.newest?.secret === secret) return this.newest;
    const known = this.all.find((each) => each.secret === secret);
    const seal = known ?? new Seal(secret, this.context);
    const others = this.all.filter((each) => each !== known);
    this.all = [seal, ...others].slice(0, MAX_SEALS);
    this.onChange();
    return seal;
  }
}

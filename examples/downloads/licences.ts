import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Purchase } from 'marketgate';
import type { Secrets } from './secrets.js';

/** A purchase that an account has redeemed. */
export interface Licence {
  /** Made from the purchase code, so that one code is one licence. Says nothing about it. */
  id: string;
  /** The marketplace's `user_id` of who redeemed it. */
  userId: string;
  itemId: number;
  itemName: string;
  version?: string | undefined;
  thumbnail?: string | undefined;
  kind?: string | undefined;
  /** ISO 8601; absent when support was not bought. */
  supportedUntil?: string | undefined;
  /** When the marketplace first called the code invalid: refunded, or cancelled. ISO 8601. */
  lostAt?: string | undefined;
  /** The purchase code, sealed: it is asked about again before each download. */
  sealedCode: string;
}

/** Options of {@link LicenceStore.open}. */
export interface LicenceStoreOptions {
  /** Made when it is not there yet. */
  file: string;
  secrets: Secrets;
  clock?: () => number;
}

/**
 * Who has redeemed what, in a file of JSON: as small as a store can be that outlives a restart. An app
 * with a database keeps a table instead, with a unique index on `id`; the rest stays as it is. One
 * process only: two would overwrite each other.
 */
export class LicenceStore {
  readonly #options: LicenceStoreOptions;
  readonly #licences: Map<string, Licence>;
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: LicenceStoreOptions, licences: readonly Licence[]) {
    this.#options = options;
    this.#licences = new Map(licences.map((licence) => [licence.id, licence]));
  }

  static async open(options: LicenceStoreOptions): Promise<LicenceStore> {
    const text = await readFile(options.file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '[]';
      throw error;
    });
    return new LicenceStore(options, JSON.parse(text) as Licence[]);
  }

  /** An account's licences, newest last. */
  of(userId: string): Licence[] {
    return [...this.#licences.values()].filter((licence) => licence.userId === userId);
  }

  find(id: string): Licence | undefined {
    return this.#licences.get(id);
  }

  /** The code of a licence, to ask the marketplace about it. */
  codeOf(licence: Licence): string {
    return this.#options.secrets.unseal(licence.sealedCode, licence.userId);
  }

  /**
   * Gives a purchase that the marketplace has just confirmed to an account. Redeeming it once more
   * changes nothing; `undefined` when it belongs to another account.
   */
  async redeem(userId: string, purchase: Purchase): Promise<Licence | undefined> {
    const { item, purchase_code: code } = purchase;
    const id = this.#options.secrets.nameOf(code);
    const present = this.#licences.get(id);
    if (present !== undefined && present.userId !== userId) return undefined;
    const licence: Licence = {
      id,
      userId,
      itemId: item.id,
      itemName: item.name ?? `Item ${item.id}`,
      version: item.version,
      thumbnail: item.media.thumbnail,
      kind: purchase.license_type,
      supportedUntil: purchase.supported_until,
      sealedCode: this.#options.secrets.seal(code, userId),
    };
    // Set before anything is awaited: of two accounts at the same moment only one gets it.
    this.#licences.set(id, licence);
    await this.#save();
    return licence;
  }

  /** Notes that the marketplace calls the code invalid. It stays listed, so that it can be explained. */
  async lose(licence: Licence): Promise<void> {
    const { clock = Date.now } = this.#options;
    if (this.#licences.get(licence.id)?.lostAt !== undefined) return;
    this.#licences.set(licence.id, { ...licence, lostAt: new Date(clock()).toISOString() });
    await this.#save();
  }

  /** One write after the other, each whole: a crash leaves the old file or the new one. */
  #save(): Promise<void> {
    const save = async () => {
      const { file } = this.#options;
      const text = JSON.stringify([...this.#licences.values()], null, 2);
      await writeFile(`${file}.new`, text, { mode: 0o600 });
      await rename(`${file}.new`, file);
    };
    this.#writing = this.#writing.then(save, save);
    return this.#writing;
  }
}

import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Purchase } from 'marketgate';

/** A purchase that an account has redeemed. */
export interface Licence {
  id: string;
  /** The marketplace's `user_id`. */
  userId: string;
  /** The purchase code: the marketplace is asked about it again before each download. */
  code: string;
  itemId: number;
  itemName: string;
  kind?: string | undefined;
}

/**
 * The licences, in a JSON file of one process. With a database this is a table with a unique index on
 * `code`.
 */
export class LicenceStore {
  readonly #file: string;
  #licences: Licence[];
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: string, licences: Licence[]) {
    this.#file = file;
    this.#licences = licences;
  }

  /** Creates the file with the first licence. */
  static async open(file: string): Promise<LicenceStore> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '[]';
      throw error;
    });
    return new LicenceStore(file, JSON.parse(text) as Licence[]);
  }

  /** An account's licences, newest last. */
  of(userId: string): Licence[] {
    return this.#licences.filter((licence) => licence.userId === userId);
  }

  find(id: unknown): Licence | undefined {
    return this.#licences.find((licence) => licence.id === id);
  }

  /** Gives a purchase to an account; `undefined` when another account has redeemed its code. */
  async redeem(userId: string, sent: string, purchase: Purchase): Promise<Licence | undefined> {
    // The code as the customer sent it, because some deployments mask the one in their answer. Without
    // letter case and invisible characters, so that one code cannot be redeemed twice.
    const code = sent.normalize('NFKC').replace(/[^\w-]/g, '');
    const isSame = (other: Licence) => other.code.toLowerCase() === code.toLowerCase();
    const known = this.#licences.find(isSame);
    if (known !== undefined) return known.userId === userId ? known : undefined;
    const { item, license_type: kind } = purchase;
    const itemName = item.name ?? `Item ${item.id}`;
    const licence = { id: randomUUID(), userId, code, itemId: item.id, itemName, kind };
    // Added before the first await: of two accounts at the same moment only one gets it.
    this.#licences.push(licence);
    await this.#save();
    return licence;
  }

  async remove({ id }: Licence): Promise<void> {
    this.#licences = this.#licences.filter((licence) => licence.id !== id);
    await this.#save();
  }

  /** One write at a time, each into a new file: a crash leaves the old file or the new one. */
  #save(): Promise<void> {
    const save = async () => {
      const text = JSON.stringify(this.#licences, null, 2);
      await writeFile(`${this.#file}.new`, text, { mode: 0o600 });
      await rename(`${this.#file}.new`, this.#file);
    };
    this.#writing = this.#writing.then(save, save);
    return this.#writing;
  }
}

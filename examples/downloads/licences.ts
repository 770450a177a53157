import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { HolderStore, Purchase } from 'marketgate';

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

/** What the file contains. */
interface Records {
  licences: Licence[];
  /** Which account holds which code. */
  holders: { code: string; userId: string }[];
}

/**
 * The licences, and who holds which code, in a JSON file of one process. For a database, the guide "One code,
 * one customer" has a holder store.
 */
export class LicenceStore implements HolderStore {
  readonly #file: string;
  readonly #records: Records;
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: string, records: Records) {
    this.#file = file;
    this.#records = records;
  }

  /** Creates the file with the first licence. */
  static async open(file: string): Promise<LicenceStore> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '{"licences":[],"holders":[]}';
      throw error;
    });
    return new LicenceStore(file, JSON.parse(text) as Records);
  }

  /** An account's licences, newest last. */
  of(userId: string): Licence[] {
    return this.#records.licences.filter((licence) => licence.userId === userId);
  }

  find(id: unknown): Licence | undefined {
    return this.#records.licences.find((licence) => licence.id === id);
  }

  /** Gives a purchase to the account that holds its code. */
  async redeem(userId: string, sent: string, purchase: Purchase): Promise<Licence> {
    // The code as the customer sent it, because some deployments mask the one in their answer. Without
    // letter case and invisible characters, so that one code is not redeemed twice.
    const code = sent.normalize('NFKC').replace(/[^!-~]/g, '');
    const isSame = (other: Licence) => other.code.toLowerCase() === code.toLowerCase();
    const known = this.of(userId).find(isSame);
    if (known !== undefined) return known;
    const { item, license_type: kind } = purchase;
    const itemName = item.name ?? `Item ${item.id}`;
    const licence = { id: randomUUID(), userId, code, itemId: item.id, itemName, kind };
    this.#records.licences.push(licence);
    await this.#save();
    return licence;
  }

  /** The code stays with its account, which can redeem it again if it becomes valid again. */
  async remove({ id }: Licence): Promise<void> {
    this.#records.licences = this.#records.licences.filter((licence) => licence.id !== id);
    await this.#save();
  }

  async take(code: string, holder: string, max: number): Promise<boolean> {
    // No await before it is added: of two accounts at the same moment only one gets it.
    const holders = this.#holdersOf(code);
    if (holders.includes(holder)) return true;
    if (holders.length >= max) return false;
    this.#records.holders.push({ code, userId: holder });
    await this.#save();
    return true;
  }

  async release(code: string, holder?: string): Promise<void> {
    this.#records.holders = this.#records.holders.filter(
      (each) => each.code !== code || (holder !== undefined && each.userId !== holder),
    );
    await this.#save();
  }

  async holders(code: string): Promise<string[]> {
    return this.#holdersOf(code);
  }

  #holdersOf(code: string): string[] {
    return this.#records.holders.filter((each) => each.code === code).map(({ userId }) => userId);
  }

  /** One write at a time, each into a new file: a crash leaves the old file or the new one. */
  #save(): Promise<void> {
    const save = async () => {
      const text = JSON.stringify(this.#records, null, 2);
      await writeFile(`${this.#file}.new`, text, { mode: 0o600 });
      await rename(`${this.#file}.new`, this.#file);
    };
    this.#writing = this.#writing.then(save, save);
    return this.#writing;
  }
}

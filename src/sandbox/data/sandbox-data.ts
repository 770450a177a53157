import { randomBytes, randomUUID } from 'node:crypto';
import { type SandboxClock, timestamp } from '../clock.js';
import {
  parsed,
  purchase as purchaseSchema,
  redirectUrl as redirectUrlSchema,
  type SandboxSeed,
  type SeedApp,
  type SeedItem,
  type SeedPurchase,
  type SeedUser,
  type SeedWorkspace,
} from './schema.js';

/** Half a year of support, as most marketplaces sell it. */
const SUPPORT = 182 * 86_400_000;

/** What {@link SandboxData.addPurchase} needs to know; the rest is filled in. */
export type NewPurchase = Partial<Omit<SeedPurchase, 'supported_until' | 'item_id'>> & {
  /** The item it is for. */
  item_id: number;
  /** Absent: half a year from now. `null`: no support. */
  supported_until?: string | number | Date | null;
};

const instant = (when: string | number | Date): string => timestamp(new Date(when).getTime());

/** The record that `isIt` accepts, or a TypeError. The message repeats no value: a code is a secret. */
function found<T>(records: readonly T[], isIt: (record: T) => boolean, missing: string): T {
  const record = records.find(isIt);
  if (record === undefined) throw new TypeError(missing);
  return record;
}

/**
 * What the service knows, for tests to read and change while it runs. Reading gives the live records;
 * change them through the methods, which check their arguments.
 */
export class SandboxData {
  readonly #seed: SandboxSeed;
  readonly #clock: SandboxClock;
  readonly #revoke: (accessToken: string) => void;
  readonly #changed: () => void;

  constructor(
    seed: SandboxSeed,
    clock: SandboxClock,
    revokeToken: (accessToken: string) => void,
    onChange: () => void,
  ) {
    this.#seed = seed;
    this.#clock = clock;
    this.#revoke = revokeToken;
    this.#changed = onChange;
  }

  /** Who can log in. */
  get users(): readonly Readonly<SeedUser>[] {
    return this.#seed.users;
  }

  /** Accounts with their keys. */
  get workspaces(): readonly Readonly<SeedWorkspace>[] {
    return this.#seed.workspaces;
  }

  /** Apps that users can log in with. */
  get apps(): readonly Readonly<SeedApp>[] {
    return this.#seed.apps;
  }

  /** The catalogues of all workspaces. */
  get items(): readonly Readonly<SeedItem>[] {
    return this.#seed.items;
  }

  /** All purchases, of every workspace, refunded ones too. */
  get purchases(): readonly Readonly<SeedPurchase>[] {
    return this.#seed.purchases;
  }

  /**
   * Sells an item: a new code, license "Regular", half a year of support, not downloaded, dated now.
   * Whatever is given replaces that.
   */
  addPurchase(given: NewPurchase): Readonly<SeedPurchase> {
    const item = this.#item(given.item_id);
    const license = given.license_type ?? 'Regular';
    const { supported_until: support = this.#clock.now() + SUPPORT, ...rest } = given;
    const purchase = parsed(
      purchaseSchema,
      {
        purchase_code: randomUUID(),
        kind: 'added',
        license_type: license,
        price: license === 'Extended' ? item.price.extended : item.price.regular,
        currency: item.currency,
        downloaded: false,
        date: timestamp(this.#clock.now()),
        ...rest,
        ...(support === null ? {} : { supported_until: instant(support) }),
      },
      'addPurchase',
    );
    if (this.purchases.some((other) => other.purchase_code === purchase.purchase_code)) {
      throw new TypeError('addPurchase.purchase_code: given twice');
    }
    this.#seed.purchases.push(purchase);
    this.#changed();
    return purchase;
  }

  /** Refunds a purchase: its code reads "Invalid purchase code" from now on. */
  refundPurchase(code: string): void {
    this.#purchase(code).void = 'refunded';
    this.#changed();
  }

  /** Cancels a purchase, to the same effect as a refund. */
  cancelPurchase(code: string): void {
    this.#purchase(code).void = 'cancelled';
    this.#changed();
  }

  /** Moves the end of support; `undefined` disables support. */
  setSupportedUntil(code: string, until: string | number | Date | undefined): void {
    const purchase = this.#purchase(code);
    if (until === undefined) delete purchase.supported_until;
    else purchase.supported_until = instant(until);
    this.#changed();
  }

  /** Removes an item from the catalogue; purchases of it stay valid and still show it. */
  deleteItem(id: number): void {
    this.#item(id).deleted = true;
    this.#changed();
  }

  /** Makes a new api_key for a workspace (by its `id`) and returns it. The old one is dead at once. */
  rotateApiKey(workspace: string): string {
    const key = randomBytes(32).toString('hex');
    this.#workspace(workspace).api_key = key;
    this.#changed();
    return key;
  }

  /** Leaves a workspace without an api_key. */
  revokeApiKey(workspace: string): void {
    delete this.#workspace(workspace).api_key;
    this.#changed();
  }

  /** Registers where accepted logins of an app go; `undefined` unregisters it. */
  setRedirectUrl(appId: string, url: string | undefined): void {
    const missing = 'setRedirectUrl: there is no such app';
    const app = found(this.#seed.apps, ({ app_id }) => app_id === appId, missing);
    if (url === undefined) delete app.redirect_url;
    else app.redirect_url = parsed(redirectUrlSchema, url, 'redirectUrl');
    this.#changed();
  }

  /** Ends an access_token before its hour has passed: it reads "invalid access_token". */
  revokeToken(accessToken: string): void {
    this.#revoke(accessToken);
  }

  /** Removes a user: get_user_info answers `[]` for tokens that are still alive (field notes). */
  removeUser(userId: string): void {
    const missing = 'removeUser: there is no such user';
    const user = found(this.#seed.users, ({ user_id }) => user_id === userId, missing);
    this.#seed.users.splice(this.#seed.users.indexOf(user), 1);
    this.#changed();
  }

  #purchase(code: string): SeedPurchase {
    const missing = 'purchase_code: there is no such purchase';
    return found(this.#seed.purchases, ({ purchase_code }) => purchase_code === code, missing);
  }

  #item(itemId: number): SeedItem {
    return found(this.#seed.items, ({ id }) => id === itemId, 'item_id: there is no such item');
  }

  #workspace(name: string): SeedWorkspace {
    const missing = 'workspace: there is no such workspace';
    return found(this.#seed.workspaces, ({ id }) => id === name, missing);
  }
}

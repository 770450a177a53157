import { randomBytes, randomUUID } from 'node:crypto';
import { type SandboxClock, timestamp } from '../clock.js';
import type { LoginCredentials } from '../login-api/login-credentials.js';
import { parsed } from '../seed/build-seed.js';
import { purchase as purchaseSchema, redirectUrl as redirectUrlSchema } from '../seed/schema.js';
import type {
  SandboxSeed,
  SeedApp,
  SeedItem,
  SeedPurchase,
  SeedUser,
  SeedWorkspace,
} from '../seed/types.js';

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

/**
 * What the service knows, for tests to read and change while it runs. Reading gives the live records;
 * change them through the methods, which check what they are told.
 */
export class SandboxData {
  /** Who can log in. */
  readonly users: readonly Readonly<SeedUser>[];
  /** Accounts with their keys. */
  readonly workspaces: readonly Readonly<SeedWorkspace>[];
  /** Apps that users can log in with. */
  readonly apps: readonly Readonly<SeedApp>[];
  /** The catalogues of all workspaces. */
  readonly items: readonly Readonly<SeedItem>[];
  readonly #seed: SandboxSeed;
  readonly #clock: SandboxClock;
  readonly #credentials: LoginCredentials;
  readonly #changed: () => void;

  constructor(
    seed: SandboxSeed,
    clock: SandboxClock,
    credentials: LoginCredentials,
    onChange: () => void = () => {},
  ) {
    this.#seed = seed;
    this.#clock = clock;
    this.#credentials = credentials;
    this.#changed = onChange;
    this.users = seed.users;
    this.workspaces = seed.workspaces;
    this.apps = seed.apps;
    this.items = seed.items;
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
    if (this.#seed.purchases.some((other) => other.purchase_code === purchase.purchase_code)) {
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

  /** Takes an item out of the catalogue; purchases of it stay valid and still show it. */
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
    const app = this.#seed.apps.find((candidate) => candidate.app_id === appId);
    if (!app) throw new TypeError('setRedirectUrl: there is no such app');
    if (url === undefined) delete app.redirect_url;
    else app.redirect_url = parsed(redirectUrlSchema, url, 'redirectUrl');
    this.#changed();
  }

  /** Ends an access_token before its hour is over: it reads "invalid access_token". */
  revokeToken(accessToken: string): void {
    this.#credentials.revokeToken(accessToken);
  }

  /** Removes a user: get_user_info answers `[]` for tokens that are still alive (field notes). */
  removeUser(userId: string): void {
    const index = this.#seed.users.findIndex((user) => user.user_id === userId);
    if (index === -1) throw new TypeError('removeUser: there is no such user');
    this.#seed.users.splice(index, 1);
    this.#changed();
  }

  #purchase(code: string): SeedPurchase {
    const purchase = this.#seed.purchases.find((candidate) => candidate.purchase_code === code);
    // The code is a secret, so the message does not repeat it.
    if (!purchase) throw new TypeError('purchase_code: there is no such purchase');
    return purchase;
  }

  #item(id: number): SeedItem {
    const item = this.#seed.items.find((candidate) => candidate.id === id);
    if (!item) throw new TypeError('item_id: there is no such item');
    return item;
  }

  #workspace(id: string): SeedWorkspace {
    const workspace = this.#seed.workspaces.find((candidate) => candidate.id === id);
    if (!workspace) throw new TypeError('workspace: there is no such workspace');
    return workspace;
  }
}

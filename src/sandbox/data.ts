import { createHash, randomBytes } from 'node:crypto';
import type * as z from 'zod/mini';
import { DAY, type SandboxClock, timestamp } from './clock.js';
import {
  parseOrThrow,
  RECORDS,
  redirectUrl,
  refuseRepeats,
  type SandboxSeed,
  type SeedApp,
  type SeedItem,
  type SeedPurchase,
  type SeedUser,
  type SeedWorkspace,
} from './schema.js';

/** What the records of each part must be. */
const SCHEMAS: {
  readonly [Part in keyof SandboxSeed]: z.ZodMiniType<SandboxSeed[Part][number]>;
} = RECORDS;

/** Half a year of support, as most marketplaces sell it. */
const SUPPORT = 182 * DAY;

type Given<T> = { [Name in keyof T]?: T[Name] | undefined };

/** What {@link SandboxData.addPurchase} needs to know; the rest is filled in. */
export interface NewPurchase extends Given<Omit<SeedPurchase, 'supported_until'>> {
  /** The item it is for. */
  item_id: number;
  /** Absent: half a year from now. `null`: no support. */
  supported_until?: string | number | Date | null | undefined;
}

/** What {@link SandboxData.addItem} needs to know; the rest is filled in. */
export type NewItem = Given<SeedItem> & Pick<SeedItem, 'name'>;

/** What {@link SandboxData.addUser} needs to know; the rest is filled in. */
export type NewUser = Given<SeedUser> & Pick<SeedUser, 'user_name'>;

/** What {@link SandboxData.addApp} needs to know; the rest is filled in. */
export type NewApp = Given<SeedApp> & Pick<SeedApp, 'name'>;

/** An instant as the service writes it; nothing for `null`. */
function instant(when: string | number | Date | null | undefined): string | undefined {
  if (when === null || when === undefined) return undefined;
  const time = new Date(when).getTime();
  if (Number.isNaN(time)) throw new TypeError('supported_until: this is no date');
  return timestamp(time);
}

/**
 * The record whose field has this value, as text: some ids are numbers, and some are numbers in a text.
 * @throws TypeError that says which there are, and repeats no value: a code is a secret.
 */
export function findOrThrow<T>(
  records: readonly T[],
  field: keyof T & string,
  value: unknown,
  name: string = field,
): T {
  const record = records.find((each) => String(each[field]) === String(value));
  if (record !== undefined) return record;
  if (field === 'purchase_code') {
    throw new TypeError('no purchase has this code; "marketgate sandbox codes" lists them');
  }
  const known = records.map((each) => each[field]);
  const list = `${known.slice(0, 10).join(', ')}${known.length > 10 ? ' …' : ''}`;
  throw new TypeError(`${name}: there is none with this value; there are ${list}`);
}

/** The fields of a purchase when this item is sold; `given` replaces the others. */
export function newPurchase(
  item: Readonly<SeedItem>,
  now: number,
  {
    license_type = 'Regular',
    ...given
  }: Partial<SeedPurchase> & Pick<SeedPurchase, 'purchase_code'>,
): SeedPurchase {
  return {
    kind: 'added',
    license_type,
    price: license_type === 'Extended' ? item.price.extended : item.price.regular,
    currency: item.currency,
    downloaded: false,
    date: timestamp(now),
    ...given,
    item_id: item.id,
  };
}

/** What the data of a sandbox needs of its other parts. */
interface DataParts {
  /** What the sandbox starts with. */
  readonly freshSeed: () => SandboxSeed;
  readonly clock: SandboxClock;
  readonly credentials: { readonly clear: () => void };
}

/** Something that looks drawn and is the same at every start. In hex. */
const made = (what: string, id: unknown): string =>
  createHash('sha256').update(`marketgate sandbox ${what} ${id}`).digest('hex');

/** The n-th purchase code: a UUID v4. */
const madeCode = (n: number): string =>
  made('purchase_code', n).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, '$1-$2-4$3-a$4-$5');

/** The next number as an id. */
const nextId = (ids: readonly unknown[]): number =>
  Math.max(0, ...ids.map(Number).filter(Number.isSafeInteger)) + 1;

/** Without the fields that are `undefined`, so that they do not replace what is filled in. */
const given = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

/**
 * What the service knows, for tests to read and change while it runs. Reading gives the live records;
 * change them through the methods, which check their arguments.
 */
export class SandboxData {
  /** Who can log in. */
  readonly users: readonly Readonly<SeedUser>[] = [];
  /** Accounts with their keys. */
  readonly workspaces: readonly Readonly<SeedWorkspace>[] = [];
  /** Apps that users can log in with. */
  readonly apps: readonly Readonly<SeedApp>[] = [];
  /** The catalogues of all workspaces. */
  readonly items: readonly Readonly<SeedItem>[] = [];
  /** All purchases, of every workspace, refunded ones too. */
  readonly purchases: readonly Readonly<SeedPurchase>[] = [];
  readonly #parts: DataParts;

  /** @internal */
  constructor(parts: DataParts) {
    this.#parts = parts;
    Object.assign(this, parts.freshSeed());
  }

  /**
   * Sells an item: a new code, license "Regular", half a year of support, not downloaded, dated now.
   * Whatever is given replaces that.
   */
  addPurchase(fields: NewPurchase): Readonly<SeedPurchase> {
    const item = findOrThrow(this.items, 'id', fields.item_id, 'item_id');
    const now = this.#parts.clock.now();
    const { supported_until: until = now + SUPPORT, ...rest } = fields;
    let n = this.purchases.length;
    while (this.purchases.some(({ purchase_code }) => purchase_code === madeCode(n))) n++;
    const purchase = newPurchase(item, now, { purchase_code: madeCode(n), ...given(rest) });
    return this.#add('addPurchase', 'purchases', { ...purchase, supported_until: instant(until) });
  }

  /** Adds an item to the catalogue of the first workspace. Whatever is given replaces what is filled in. */
  addItem(fields: NewItem): Readonly<SeedItem> {
    const { workspace = this.workspaces[0]?.id } = fields;
    const { currency } = findOrThrow(this.workspaces, 'id', workspace, 'workspace');
    return this.#add('addItem', 'items', {
      ...{ id: nextId(this.items.map(({ id }) => id)), workspace, kind: 'image', description: '' },
      ...{ category: 'Other', sub_category: '', options: [], version: '1.0.0', tags: [] },
      ...{ screenshots: 0, price: { regular: 20, extended: 150 }, currency },
      published_at: timestamp(this.#parts.clock.now()),
      ...given(fields),
    });
  }

  /** Adds somebody who can log in. Whatever is given replaces what is filled in. */
  addUser(fields: NewUser): Readonly<SeedUser> {
    return this.#add('addUser', 'users', {
      user_id: String(nextId(this.users.map(({ user_id }) => user_id))),
      user_email: `${fields.user_name}@users.example`,
      user_registered: timestamp(this.#parts.clock.now()).slice(0, 10),
      user_verified: '1',
      ...given(fields),
    });
  }

  /** Registers an app, with a new app_id and app_secret. Whatever is given replaces these. */
  addApp(fields: NewApp): Readonly<SeedApp> {
    const app_id = String(nextId(this.apps.map(({ app_id }) => app_id)));
    const app_secret = made('app_secret', app_id).slice(32);
    return this.#add('addApp', 'apps', { app_id, app_secret, ...given(fields) });
  }

  /** Refunds a purchase: its code reads "Invalid purchase code" from now on. */
  refundPurchase(code: string): void {
    this.#changePurchase(code, { void: 'refunded' });
  }

  /** Takes a refund or a cancellation back: the code is valid again. */
  unrefundPurchase(code: string): void {
    this.#changePurchase(code, { void: undefined });
  }

  /** Moves the end of support; `null` or `undefined` disables support. */
  setSupportedUntil(code: string, until: string | number | Date | null | undefined): void {
    this.#changePurchase(code, { supported_until: instant(until) });
  }

  /** Renews support: for half a year after its end, or after today where it has ended. */
  renewSupport(code: string): void {
    const { supported_until = '' } = this.#changePurchase(code, {});
    const now = this.#parts.clock.now();
    this.setSupportedUntil(code, Math.max(Date.parse(supported_until) || now, now) + SUPPORT);
  }

  /** Makes a new api_key for a workspace (by its `id`) and returns it. The old one is rejected at once. */
  rotateApiKey(workspace: string): string {
    const api_key = randomBytes(32).toString('hex');
    Object.assign(findOrThrow(this.workspaces, 'id', workspace, 'workspace'), { api_key });
    return api_key;
  }

  /** Registers where accepted logins of an app go; `undefined` unregisters it. */
  setRedirectUrl(appId: string, url: string | undefined): void {
    const app = findOrThrow(this.apps, 'app_id', appId);
    if (url !== undefined) parseOrThrow(redirectUrl, url, 'redirectUrl');
    Object.assign(app, { redirect_url: url });
  }

  /** Puts everything back as it was at the start, except where logins lead back to. Ends all logins. */
  reset(): void {
    const fresh = this.#parts.freshSeed();
    for (const app of fresh.apps) {
      const { redirect_url } = this.apps.find(({ app_id }) => app_id === app.app_id) ?? app;
      Object.assign(app, { redirect_url });
    }
    Object.assign(this, fresh);
    this.#parts.credentials.clear();
  }

  #changePurchase(code: string, change: Partial<SeedPurchase>): Readonly<SeedPurchase> {
    return Object.assign(findOrThrow(this.purchases, 'purchase_code', code), change);
  }

  #add<P extends keyof SandboxSeed>(
    method: string,
    part: P,
    fields: object,
  ): SandboxSeed[P][number] {
    const record = parseOrThrow(SCHEMAS[part], given(fields), method);
    const records = this[part] as SandboxSeed[P][number][];
    refuseRepeats(part, [...records, record], method);
    records.push(record);
    return record;
  }
}

/** What an app under development is set up with: the first workspace's key, and the first app. */
export const firstCredentials = ({ workspaces: [workspace], apps: [app] }: SandboxData) => ({
  apiKey: workspace?.api_key ?? '',
  appId: app?.app_id ?? '',
  appSecret: app?.app_secret ?? '',
});

/** One purchase code to try, with what to expect of it. */
export interface SandboxCode {
  /** The purchase code. */
  code: string;
  /** What it is in the seed, such as `supported` or `video-item`; `added` for later ones. */
  kind: string;
  /** What it is now, under the key of the first workspace. */
  state:
    | 'supported'
    | 'support-over'
    | 'unsupported'
    | 'other-workspace'
    | 'refunded'
    | 'cancelled';
  /** The item it is for. */
  item_id: number;
  /** That item's name. */
  item_name: string;
  /** As validation shows it. */
  license_type: string;
  /** One sentence: what the service answers for this code. */
  description: string;
}

/** What the service answers for a purchase under the first workspace's key, as the records are now. */
export function codeOf(
  { items, workspaces }: SandboxData,
  { purchase_code: code, kind, item_id, license_type, ...purchase }: Readonly<SeedPurchase>,
  now: number,
): SandboxCode {
  const item = items.find(({ id }) => id === item_id);
  const { supported_until: until = '', void: reason } = purchase;
  const isOwn = item?.workspace === workspaces[0]?.id;
  const support = Date.parse(until) > now ? 'supported' : until ? 'support-over' : 'unsupported';
  const state: SandboxCode['state'] = reason ?? (isOwn ? support : 'other-workspace');
  const end = item?.deleted ? '; its item has left the catalogue.' : '.';
  const descriptions: Record<SandboxCode['state'], string> = {
    supported: `Valid, with support until ${until.slice(0, 10)}${end}`,
    'support-over': `Valid; support ended on ${until.slice(0, 10)}${end}`,
    unsupported: `Valid, without support${end}`,
    'other-workspace': 'Of another workspace: invalid under the first one’s key.',
    refunded: 'Was refunded: the service calls it invalid.',
    cancelled: 'Was cancelled: the service calls it invalid.',
  };
  const shown = { code, kind, state, item_id, item_name: item?.name ?? '', license_type };
  return { ...shown, description: descriptions[state] };
}

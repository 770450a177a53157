/** Somebody who can log in with an app: the User info of interface B (spec, "User info"). */
export interface SeedUser {
  /** A number in the default seed, as text. */
  user_id: string;
  /** The name to log in with. */
  user_name: string;
  /** An address; not verified. */
  user_email: string;
  /** What a user left blank is sent as an empty string: the spec says that all fields are strings. */
  user_firstname?: string;
  /** Last name. */
  user_lastname?: string;
  /** Any word. */
  user_gender?: string;
  /** `YYYY-MM-DD`. */
  user_birthdate?: string;
  /** URL; by default a picture the sandbox draws. */
  user_picture?: string;
  /** URL; by default a picture the sandbox draws. */
  user_cover?: string;
  /** `YYYY-MM-DD`. */
  user_registered: string;
  /** `"1"` means verified. */
  user_verified: string;
  /** Any word. */
  user_relationship?: string;
  /** Any text. */
  user_biography?: string;
  /** URL. */
  user_website?: string;
}

/** A workspace with its API key and the account that owns it (spec, "Account"). */
export interface SeedWorkspace {
  /** The sandbox's own name for it; items point here. Not on the wire. */
  id: string;
  /** The one key of interface A, 64 hex characters in the default seed. Absent: it was revoked. */
  api_key?: string;
  /** Who owns the account. */
  name: {
    /** The owner's first name. */
    firstname: string;
    /** The owner's last name. */
    lastname: string;
    /** Both, as shown. */
    full_name: string;
  };
  /** The account's name on the marketplace. */
  username: string;
  /** Where the marketplace writes to. */
  email: string;
  /** Money on the account, in units of `currency`. */
  balance: number;
  /** A currency code, as in "USD". */
  currency: string;
  /** What the account shows of itself. */
  profile: {
    /** One line above the profile. */
    heading: string;
    /** Text of the profile. */
    description: string;
    /** How to write to the author. */
    contact: {
      /** Where the author wants to be written to. */
      email: string;
    };
    /** From the name of a network to a link. */
    social_links: Record<string, string>;
    /** URLs; by default pictures the sandbox draws. */
    media?: {
      /** A small square picture. */
      avatar?: string;
      /** A wide picture. */
      cover?: string;
    };
  };
  /** ISO 8601, UTC. */
  registered_at: string;
}

/** An app of interface B (spec, "App credentials"). */
export interface SeedApp {
  /** What the app calls itself by, in public. */
  app_id: string;
  /** What the app proves itself by. */
  app_secret: string;
  /** Shown on the consent page. */
  name: string;
  /** Where accepted logins go. Absent: `/callback` on the loopback origin that sent the browser. */
  redirect_url?: string;
}

/** Which previews an item has (spec, "media fields"). */
export type MediaKind = 'image' | 'video' | 'audio';

/** An item of the catalogue (spec, "Item"). Its media URLs are the sandbox's own. */
export interface SeedItem {
  /** A positive integer. */
  id: number;
  /** The `id` of the workspace that sells it. Not on the wire. */
  workspace: string;
  /** Decides which of the media fields exist. Not on the wire. */
  kind: MediaKind;
  /** What it is sold as. */
  name: string;
  /** What it is. */
  description: string;
  /** Name of its category. */
  category: string;
  /** Name of the category below that. */
  sub_category: string;
  /** What comes with it. */
  options: string[];
  /** Three numeric parts. */
  version: string;
  /** By default the sandbox's own preview page of the item. */
  demo_link?: string;
  /** Words to find it by. */
  tags: string[];
  /** How many screenshots it has; 0 leaves the field out. */
  screenshots: number;
  /** What it costs, in units of `currency`. */
  price: {
    /** With the regular licence. */
    regular: number;
    /** With the extended licence. */
    extended: number;
  };
  /** A currency code, as in "USD". */
  currency: string;
  /** ISO 8601, UTC. */
  published_at: string;
  /** Taken out of the catalogue: only purchases still show it. */
  deleted?: boolean;
}

/** A purchase of an item (spec, "Purchase"). It belongs to the workspace that sells the item. */
export interface SeedPurchase {
  /** A UUID in the default seed. */
  purchase_code: string;
  /** A label for tests and for the list of codes to try, such as `supported`. Not on the wire. */
  kind: string;
  /** The item it is for. */
  item_id: number;
  /** A label for the kind of licence, as in "Regular". */
  license_type: string;
  /** What was paid, in units of `currency`. */
  price: number;
  /** A currency code, as in "USD". */
  currency: string;
  /** ISO 8601, UTC. Absent: support is disabled or the purchase is not supported. */
  supported_until?: string;
  /** Whether it was downloaded from the marketplace. */
  downloaded: boolean;
  /** ISO 8601, UTC. */
  date: string;
  /** Validation then answers "Invalid purchase code". Not on the wire. */
  void?: 'refunded' | 'cancelled';
}

/** Everything a sandbox starts with. */
export interface SandboxSeed {
  /** Who can log in. */
  users: SeedUser[];
  /** Accounts with their keys; the first one's is the `apiKey` that `listen` gives. */
  workspaces: SeedWorkspace[];
  /** Apps that users can log in with; the first is the one that `listen` tells of. */
  apps: SeedApp[];
  /** The catalogues of all workspaces. */
  items: SeedItem[];
  /** Codes, also refunded ones. */
  purchases: SeedPurchase[];
}

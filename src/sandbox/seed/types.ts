/** Somebody who can log in with an app: the User info of interface B (spec, "User info"). */
export interface SeedUser {
  user_id: string;
  user_name: string;
  user_email: string;
  /** What a user left blank is sent as an empty string: the spec says that all fields are strings. */
  user_firstname?: string;
  user_lastname?: string;
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
  user_relationship?: string;
  user_biography?: string;
  user_website?: string;
}

/** A workspace with its API key and the account that owns it (spec, "Account"). */
export interface SeedWorkspace {
  /** The sandbox's own name for it; items point here. Not on the wire. */
  id: string;
  /** The one key of interface A, 64 hex characters in the default seed. Absent: it was revoked. */
  api_key?: string;
  name: { firstname: string; lastname: string; full_name: string };
  username: string;
  email: string;
  balance: number;
  currency: string;
  profile: {
    heading: string;
    description: string;
    contact: { email: string };
    social_links: Record<string, string>;
    /** URLs; by default pictures the sandbox draws. */
    media?: { avatar?: string; cover?: string };
  };
  /** ISO 8601, UTC. */
  registered_at: string;
}

/** An app of interface B (spec, "App credentials"). */
export interface SeedApp {
  app_id: string;
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
  name: string;
  description: string;
  category: string;
  sub_category: string;
  options: string[];
  /** Three numeric parts. */
  version: string;
  /** By default the sandbox's own preview page of the item. */
  demo_link?: string;
  tags: string[];
  /** How many screenshots it has; 0 leaves the field out. */
  screenshots: number;
  price: { regular: number; extended: number };
  currency: string;
  /** ISO 8601, UTC. */
  published_at: string;
  /** Taken out of the catalogue: only purchases still show it. */
  deleted?: boolean;
}

/** A purchase of an item (spec, "Purchase"). It belongs to the workspace that sells the item. */
export interface SeedPurchase {
  purchase_code: string;
  /** A label for tests and for the list of codes to try, such as `supported`. Not on the wire. */
  kind: string;
  item_id: number;
  license_type: string;
  price: number;
  currency: string;
  /** ISO 8601, UTC. Absent: support is disabled or the purchase is not supported. */
  supported_until?: string;
  downloaded: boolean;
  /** ISO 8601, UTC. */
  date: string;
  /** Validation then answers "Invalid purchase code". Not on the wire. */
  void?: 'refunded' | 'cancelled';
}

/** Everything a sandbox starts with. */
export interface SandboxSeed {
  users: SeedUser[];
  workspaces: SeedWorkspace[];
  apps: SeedApp[];
  items: SeedItem[];
  purchases: SeedPurchase[];
}

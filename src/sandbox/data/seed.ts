import { timestamp } from '../clock.js';
import { defaultItems, recordsOf } from './default-items.js';
import {
  parsed,
  type SandboxSeed,
  type SeedApp,
  type SeedItem,
  type SeedPurchase,
  type SeedUser,
  type SeedWorkspace,
  seedParts,
} from './schema.js';

const DAY = 86_400_000;

/** Five people to log in as: complete, unicode, unverified, and one who filled in next to nothing. */
const USERS = `
user_id | user_name | user_email | user_firstname | user_lastname | user_gender | user_birthdate | user_registered | user_verified
  user_relationship | user_website | user_biography
3001 | mira.solheim | mira@solheim.example | Mira | Solheim | female | 1991-03-14 | 2019-04-02 | 1
  married | https://solheim.example/ | Interface designer in Bergen. Collects maps and mechanical keyboards.
3002 | taguilar | tomas@correo.example | Tomás | Aguilar Ibáñez | male | 1984-11-30 | 2017-09-21 | 1
  single | https://aguilar.example/reel?lang=es | Edits documentaries & trailers. “Cut on the blink.”
3003 | jiayi | jiayi.lin@mail.example | 佳怡 | 林 | female | 1999-07-08 | 2022-01-17 | 1
   | https://jiayi.example/ | Game audio, Taipei.
3004 | dele_o | dele@okafor.example | Dele | Okafor | male | 1996-02-29 | 2024-06-05 | 0
  engaged |  | Just moved in. Has not confirmed the address yet.
3005 | guest77 | guest77@post.example |  |  |  |  | 2025-02-11 | 0
`;

const WORKSPACES = `
id | api_key | username | email | balance | currency | registered_at
  firstname | lastname | heading | description | contact | social_links
northlight | 7d1f0c9ab4e85236f09d7c1be24a6853a1c7f4e09b52d86e3f10a95c7b2e4d68 | northlight | ingrid@northlight.example | 4318.75 | USD | 2016-08-19T09:24:51Z
  Ingrid | Halvorsen | Northlight Studio | Pictures, textures and footage made under a low sun. | hello@northlight.example | facebook=https://www.facebook.com/northlight.example, x=https://x.com/northlight_example, behance=https://www.behance.net/northlight-example
tidewater | c25a8e17f3604bd9918e5d02a7f6c34b60d9e1872fab45c3705e18d9b4a26fc1 | tidewater | marcus@tidewater.example | 912 | EUR | 2020-02-18T07:42:08Z
  Marcus | Bell | Tidewater Audio | Field recordings and small songs from the estuary. | studio@tidewater.example | soundcloud=https://soundcloud.com/tidewater-example
`;

/** Two workspaces, to show that each key reads its own account only. */
const workspaces = (): SeedWorkspace[] =>
  recordsOf<keyof SeedWorkspace | keyof SeedWorkspace['name'] | keyof SeedWorkspace['profile']>(
    WORKSPACES,
  ).map(({ firstname, lastname, heading, description, contact, social_links, ...account }) => ({
    ...account,
    name: { firstname, lastname, full_name: `${firstname} ${lastname}` },
    balance: Number(account.balance),
    profile: {
      heading,
      description,
      contact: { email: contact },
      social_links: Object.fromEntries(social_links.split(', ').map((link) => link.split('='))),
    },
  }));

/** Two apps, so that an auth_key of one can be tried with the other. Neither has a redirect URL yet. */
const apps = (): SeedApp[] => [
  { app_id: '18230471', app_secret: 'e4b8d61f9a3c0572be81f46d23907ca5', name: 'Atelier Desk' },
  { app_id: '55409216', app_secret: '0f6a92c7d85b41e3a7c9306d1be852f4', name: 'Tide Table' },
];

/** A purchase of every kind, under codes that never change. `sold` and `support` are days from the start. */
const PURCHASES = `
purchase_code                        | kind            | id   | license_type | sold | support | downloaded
6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10 | supported       | 1042 | Regular      |  -60 |     122 | yes
b83e07d1-4c6f-4a92-9e18-5d7a3c1f60b2 | extended        | 1042 | Extended     |  -25 |     340 | yes
2d94f6c8-71b5-4e03-a4d7-8f0b92e6c153 | support-over    | 1042 | Regular      | -227 |     -45 | yes
94a0c3e7-d25f-4816-b7c9-13e68fd05a24 | unsupported     | 1042 | Regular      |   -3 |         |
e7520b9d-8a13-4fc6-85e2-c40d71a9f635 | other-item      | 1046 | Regular      |  -92 |      90 | yes
0c6e8d42-f39b-47a5-9d01-a86b5f72e346 | video-item      | 1049 | Regular      |  -11 |     171 |
5ab17f90-2e4d-4d68-bc73-e91f08d6c457 | audio-item      | 1055 | Extended     | -124 |      58 | yes
d318c6a5-b07e-4952-8f4a-670e2d9bc568 | deleted-item    | 1044 | Regular      | -150 |      30 | yes
8e4f5b03-c1d6-4e79-a260-fb37d8a0e679 | refunded        | 1042 | Regular      |  -82 |     100 | yes
37b9d2e1-650c-4a8f-93be-4d1c76f5a780 | cancelled       | 1046 | Regular      |   -7 |         |
f60a7c28-39e4-4b15-8d97-b25e0f83c891 | other-workspace | 1061 | Regular      | -108 |      75 | yes
1e85d0f7-a46b-4c32-b0e8-957c3d2af9a2 | other-workspace | 1064 | Extended     |   -1 |         |
`;

const purchases = (items: readonly SeedItem[], now: number): SeedPurchase[] => {
  const at = (days: string) => timestamp(now + Number(days) * DAY);
  const rows = recordsOf<Exclude<keyof SeedPurchase, 'void'> | 'id' | 'sold' | 'support'>(
    PURCHASES,
  );
  return rows.map(({ id, sold, support, downloaded, ...row }) => {
    const item = items.find((each) => each.id === Number(id));
    const license = row.license_type === 'Extended' ? 'extended' : 'regular';
    return {
      ...row,
      item_id: Number(id),
      price: item?.price[license] ?? 0,
      currency: item?.currency ?? 'USD',
      ...(support && { supported_until: at(support) }),
      downloaded: downloaded === 'yes',
      date: at(sold),
      ...((row.kind === 'refunded' || row.kind === 'cancelled') && { void: row.kind }),
    };
  });
};

/**
 * What a sandbox starts with by default: two workspaces, two apps, five users, 24 items from id 1042 on,
 * and a purchase of every kind.
 *
 * @param now - The time from which the dates of purchases are counted, in epoch milliseconds: support that
 * is still ahead today is still ahead next year.
 */
function defaultSeed(now: number): SandboxSeed {
  const items = defaultItems();
  return {
    users: recordsOf<keyof SeedUser>(USERS),
    workspaces: workspaces(),
    apps: apps(),
    items,
    purchases: purchases(items, now),
  };
}

/** The fields that no two records of a part share. */
const UNIQUE = [
  ['users', 'user_id'],
  ['workspaces', 'id'],
  ['workspaces', 'api_key'],
  ['apps', 'app_id'],
  ['items', 'id'],
  ['purchases', 'purchase_code'],
] as const;

/**
 * Puts a caller's parts in place of the default ones. A default item or purchase that would point at
 * something replaced is left out; a caller's own that points nowhere throws a TypeError that names it.
 *
 * @param option - The `seed` option.
 * @param now - The time from which default support dates are counted, in epoch milliseconds.
 */
export function buildSeed(option: unknown, now: number): SandboxSeed {
  const parts = structuredClone(parsed(seedParts, option ?? {}, 'seed'));
  const given = Object.entries(parts).filter(([, part]) => part !== undefined);
  const seed: SandboxSeed = { ...defaultSeed(now), ...Object.fromEntries(given) };
  const workspaces = new Set(seed.workspaces.map(({ id }) => id));
  if (!parts.items) seed.items = seed.items.filter((item) => workspaces.has(item.workspace));
  const items = new Set(seed.items.map(({ id }) => id));
  if (!parts.purchases) seed.purchases = seed.purchases.filter(({ item_id }) => items.has(item_id));

  const refuse = (index: number, part: string, field: string, problem: string): void => {
    if (index >= 0) throw new TypeError(`seed.${part}[${index}].${field}: ${problem}`);
  };
  const homeless = seed.items.findIndex(({ workspace }) => !workspaces.has(workspace));
  refuse(homeless, 'items', 'workspace', 'there is no such workspace');
  const empty = seed.purchases.findIndex(({ item_id }) => !items.has(item_id));
  refuse(empty, 'purchases', 'item_id', 'there is no such item');
  for (const [part, field] of UNIQUE) {
    const values = seed[part].map((record): unknown => Reflect.get(record, field));
    const isRepeat = (value: unknown, at: number) => value && values.indexOf(value) < at;
    refuse(values.findIndex(isRepeat), part, field, 'given twice');
  }
  return seed;
}
